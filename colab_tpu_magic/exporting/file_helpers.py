"""The functions that an exported script reads files with, as text: folders of images and TFRecords."""

from __future__ import annotations

PASSES = '''class Passes:
    """Number the passes over files: each has an order of its own, and a training begins with a known one."""

    every = []

    def __init__(self, seed):
        self.seed = int(np.random.randint(2**31)) if seed is None else int(seed)
        self.begun = 0
        Passes.every.append(self)

    def next(self):
        """Return the seed and the number of the pass that begins now."""
        self.begun += 1
        return self.seed, self.begun - 1

    @classmethod
    def begin(cls, seed, number):
        """Let the next pass be one of a known order."""
        for one in cls.every:
            one.seed, one.begun = seed, number'''

IMAGE_FILES = '''def image_files(folder, labels, shuffle, seed, validation_split, subset):
    """Return the image files below a folder, the number of the class of each, and the names of the classes."""
    classes = [""]
    if labels is not None:
        classes = sorted(name for name in os.listdir(folder) if os.path.isdir(os.path.join(folder, name)))
        classes = [name for name in classes if not name.startswith(".")]
    found = []
    for number, name in enumerate(classes):
        for root, _, files in sorted(os.walk(os.path.join(folder, name)), key=lambda one: one[0]):
            images = [file for file in sorted(files) if file.lower().endswith(IMAGE_ENDINGS)]
            found += [(os.path.join(root, file), number) for file in images]
    # Mixed before they are split, so that both parts have images of every class.
    order = np.arange(len(found))
    if shuffle and seed is not None:
        np.random.RandomState(seed).shuffle(order)
    if validation_split is not None:
        kept = int(validation_split * len(found))
        order = order[:-kept] if subset == "training" else order[-kept:]
    paths = [found[at][0] for at in order]
    return paths, np.array([found[at][1] for at in order], "int32"), classes


IMAGE_ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".png")'''

SCALED = '''def image_of_size(path, size, channels, crop):
    """Return an image file scaled to a size, uint8."""
    image = tf.io.decode_image(tf.io.read_file(path), channels=channels, expand_animations=False)
    image.set_shape((None, None, channels))
    image = tf.cast(tf.round(tf.image.resize(image, size)), tf.uint8)
    return tf.ensure_shape(image, (*size, channels))'''

CROPPED = '''def image_of_size(path, size, channels, crop):
    """Return an image file in a size, uint8: scaled to it, or with `crop` the middle cut out."""
    contents = tf.io.read_file(path)
    height, width = size

    def scaled(image, to):
        return tf.cast(tf.round(tf.image.resize(image, to)), tf.uint8)

    def whole():
        image = tf.io.decode_image(contents, channels=channels, expand_animations=False)
        image.set_shape((None, None, channels))
        return image

    def middle():
        # An image smaller than the cut is scaled until it covers it.
        image = whole()
        shape = tf.cast(tf.shape(image)[:2], tf.float32)
        factor = tf.maximum(1.0, tf.reduce_max(tf.constant([height, width], tf.float32) / shape))
        to = tf.maximum([height, width], tf.cast(tf.round(shape * factor), tf.int32))
        image = tf.cond(factor > 1.0, lambda: scaled(image, to), lambda: image)
        top, left = (to[0] - height) // 2, (to[1] - width) // 2
        return image[top : top + height, left : left + width]

    def middle_of_jpeg():
        # Only the part that is wanted is decoded.
        shape = tf.io.extract_jpeg_shape(contents)
        top, left = (shape[0] - height) // 2, (shape[1] - width) // 2
        window = [top, left, height, width]

        def cut():
            return tf.io.decode_and_crop_jpeg(contents, window, channels=channels, dct_method="INTEGER_FAST")

        return tf.cond((top >= 0) & (left >= 0), cut, middle)

    if crop:
        image = tf.cond(tf.io.is_jpeg(contents), middle_of_jpeg, middle)
    else:
        image = scaled(whole(), size)
    return tf.ensure_shape(image, (height, width, channels))'''

IMAGES = '''def images_of_folder(
    folder,
    size=(256, 256),
    batch_size=32,
    labels="int",
    color_mode="rgb",
    crop=False,
    shuffle=True,
    seed=None,
    validation_split=None,
    subset=None,
    cache=True,
):
    """Return the images below a folder as a tf.data.Dataset, like image_dataset_from_directory and faster.

    Files are read and decoded on all cores, and images travel as uint8, a quarter of float32. With
    `cache` they are decoded once and stay in memory where all of them take at most 1 GiB. The order
    of a pass is a permutation that the seed and the number of the pass make.
    """
    folder, channels = os.fspath(folder), 3 if color_mode == "rgb" else 1
    paths, numbers, classes = image_files(folder, labels, shuffle, seed, validation_split, subset)
    passes = Passes(seed)
    targets = numbers
    if labels == "categorical":
        targets = np.eye(len(classes), dtype="float32")[numbers]
    elif labels == "binary":
        targets = numbers.astype("float32")[:, None]

    def decoded(path):
        return image_of_size(path, size, channels, crop)

    kept = None
    if cache and len(paths) * size[0] * size[1] * channels <= 2**30:
        files = tf.data.Dataset.from_tensor_slices(paths).map(decoded, num_parallel_calls=tf.data.AUTOTUNE)
        with tf.device("CPU"):
            kept = next(iter(files.batch(len(paths))))

    def order():
        rows = np.arange(len(paths))
        yield np.random.default_rng(passes.next()).permutation(rows) if shuffle else rows

    def read(row):
        image = decoded(tf.gather(paths, row)) if kept is None else kept[row]
        return image if labels is None else (image, tf.gather(targets, row))

    rows = tf.data.Dataset.from_generator(order, output_signature=tf.TensorSpec((len(paths),), tf.int64))
    dataset = rows.unbatch().map(read, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True).batch(batch_size)
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(-(-len(paths) // batch_size)))
    dataset = dataset.prefetch(tf.data.AUTOTUNE)
    dataset.class_names, dataset.file_paths = [name for name in classes if name], paths
    return dataset'''

FEATURE = '''def feature_of(given):
    """Return what a feature is parsed with, and what makes its own dtype and shape of a parsed batch."""
    if isinstance(given, tf.io.VarLenFeature):
        given = tf.io.RaggedFeature(given.dtype)
    if isinstance(given, (tf.io.FixedLenFeature, tf.io.FixedLenSequenceFeature, tf.io.RaggedFeature)):
        return given, lambda parsed: parsed
    dtype, shape = given if isinstance(given, tuple) and len(given) == 2 else (given, ())
    dtype = tf.string if dtype in (bytes, str, "bytes") else tf.as_dtype(dtype)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    # A record has numbers as int64 or float32, and everything else as bytes.
    numbers = {"int32": tf.int64, "bool": tf.int64, "float16": tf.float32}
    stored = dtype if dtype in (tf.int64, tf.float32, tf.string) else numbers.get(dtype.name)
    if stored is None:
        size = dtype.size * int(np.prod(shape))
        return tf.io.FixedLenFeature((), tf.string), lambda parsed: tf.reshape(
            tf.io.decode_raw(parsed, dtype, fixed_length=size), (-1, *shape)
        )
    parser = tf.io.RaggedFeature(stored) if shape == (None,) else tf.io.FixedLenFeature(shape, stored)
    return parser, lambda parsed: tf.cast(parsed, dtype) if stored != dtype else parsed'''

RECORDS = '''def rows_of_records(
    files, features, label=None, map=None, batch_size=32, shuffle=True, seed=None, compression=""
):
    """Return the rows of TFRecord files as a tf.data.Dataset.

    Parsing row by row costs more than a small step: 16 files are read side by side, and 256 rows
    are parsed at a time. Files and rows (among 16,384 others) come in a new order each pass, that
    of the seed and of the number of the pass.
    """
    patterns = [files] if isinstance(files, (str, os.PathLike)) else list(files)
    paths = [path for one in patterns for path in tf.io.gfile.glob(os.path.expanduser(os.fspath(one)))]
    paths = sorted(set(paths))
    wanted = {name: feature_of(given) for name, given in features.items()}
    labels = [label] if isinstance(label, str) else list(label or ())
    varying = any(isinstance(parser, tf.io.RaggedFeature) for parser, _ in wanted.values())
    at_once = batch_size if varying else max(batch_size, 256)

    def records(path):
        return tf.data.TFRecordDataset(path, compression_type=compression)

    def one_pass(seed):
        # For this function's graph alone: the order is that of the pass, whatever else is seeded.
        tf.random.set_seed(1)
        rows = names.shuffle(len(paths), seed, reshuffle_each_iteration=False).interleave(
            records,
            cycle_length=min(len(paths), 16),
            block_length=16,
            num_parallel_calls=tf.data.AUTOTUNE,
            deterministic=True,
        )
        return rows.shuffle(16_384, seed, reshuffle_each_iteration=False).batch(at_once)

    def seeds():
        seed, number = passes.next()
        yield seed + 1_000_003 * number

    def parse(serialized):
        parsed = tf.io.parse_example(serialized, {name: parser for name, (parser, _) in wanted.items()})
        return {name: finished(parsed[name]) for name, (_, finished) in wanted.items()}

    def pair(row):
        inputs = {name: part for name, part in row.items() if name not in labels}
        x = next(iter(inputs.values())) if len(inputs) == 1 else inputs
        if not labels:
            return x
        return x, (row[labels[0]] if len(labels) == 1 else {name: row[name] for name in labels})

    names = tf.data.Dataset.from_tensor_slices(paths)
    if shuffle:
        passes = Passes(seed)
        seed_of_pass = tf.data.Dataset.from_generator(seeds, output_signature=tf.TensorSpec((), tf.int64))
        serialized = seed_of_pass.flat_map(one_pass)
    else:
        serialized = names.flat_map(records).batch(at_once)
    parsed = serialized.map(parse, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    if map is not None:
        rows = parsed.unbatch().map(map, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
        dataset = rows.batch(batch_size)
    else:
        dataset = parsed.map(pair, num_parallel_calls=tf.data.AUTOTUNE)
        dataset = dataset if at_once == batch_size else dataset.rebatch(batch_size)
    return dataset.prefetch(tf.data.AUTOTUNE)'''

FILE_HELPERS = {
    "Passes": PASSES,
    "image_files": IMAGE_FILES,
    "image_of_size": SCALED,
    "cropped_image_of_size": CROPPED,
    "images_of_folder": IMAGES,
    "feature_of": FEATURE,
    "rows_of_records": RECORDS,
}
NEEDS = {
    "images_of_folder": ("Passes", "image_files"),
    "rows_of_records": ("Passes", "feature_of"),
}
