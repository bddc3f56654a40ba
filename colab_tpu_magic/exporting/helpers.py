"""The functions and classes that an exported script brings along, as text; only those that it uses."""

from __future__ import annotations

from collections.abc import Iterable

from .feed_helpers import FEED_HELPERS
from .file_helpers import FILE_HELPERS, NEEDS
from .length_helpers import LENGTH_HELPERS
from .validation_helpers import validation_helper

_FULL_BATCHES = '''def full_batches(*data, batch_size, seed):
    """Return endless batches of one size; each pass over the rows comes in a new order.

    The last batch of a pass is completed with the first rows of the next one, so every batch is
    full (XLA compiles a step for one shape) and no row is lost. A batch is gathered in one copy.
    """
    rows = len(keras.tree.flatten(data)[0])

    def gathered(picked):
        return keras.tree.map_structure(lambda array: array[picked], data)

    def batches():
        random = np.random.default_rng(seed)
        waiting = np.empty(0, "int64")
        while True:
            while len(waiting) < batch_size:
                waiting = np.concatenate([waiting, random.permutation(rows)])
            picked, waiting = waiting[:batch_size], waiting[batch_size:]
            yield gathered(picked)

    return {made}'''

_IN_ORDER = '''def full_batches_in_order(*data, batch_size):
    """Return endless batches of one size, the rows in their order, pass after pass.

    The last batch of a pass is completed with the first rows of the next one, so every batch is
    full (XLA compiles a step for one shape) and no row is lost.
    """
    rows = len(keras.tree.flatten(data)[0])

    def gathered(picked):
        return keras.tree.map_structure(lambda array: array[picked], data)

    def batches():
        start = 0
        while True:
            picked = np.arange(start, start + batch_size) % rows
            start = (start + batch_size) % rows
            yield gathered(picked)

    return {made}'''

_OF = '''def full_batches_of(read, batch_size, forever=True{argument}{most}):
    """Cut and join batches of any size into batches of one size.

    Args:
        read: A function that returns the batches of one pass.
        batch_size: Rows in every batch.
        forever: Go on with the next pass; otherwise the first rows complete the last batch.{explained}{counted}
    """

    def join(*parts):
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def rows_of(batch):
        return len(keras.tree.flatten(batch)[0])

    def cut(batch, start, stop):
        return keras.tree.map_structure(lambda array: array[start:stop], batch)

    def batches():
        first = waiting = None{begin}
        while True:
            for batch in read():
                batch = keras.tree.map_structure(np.asarray, tuple(batch))
                first = batch if first is None else first
                waiting = batch if waiting is None else keras.tree.map_structure(join, waiting, batch)
                while rows_of(waiting) >= batch_size:
                    yield cut(waiting, 0, batch_size)
                    waiting = cut(waiting, batch_size, None)
            if not forever:
                break
        while 0 < rows_of(waiting) < batch_size:
            missing = batch_size - rows_of(waiting)
            waiting = keras.tree.map_structure(join, waiting, cut(first, 0, missing))
        if rows_of(waiting):
            yield waiting

    return {made}'''

_STATISTICS = '''class AverageStatistics(keras.callbacks.Callback):
    """Average what each replica counted for itself, such as BatchNormalization's moving mean."""

    def average(self):
        for variable in self.model.non_trainable_variables:
            copies = [copy.numpy() for copy in strategy.experimental_local_results(variable.value)]
            if copies[0].dtype.kind == "f":
                variable.assign(np.mean(copies, axis=0))

    def on_test_begin(self, logs=None):
        self.average()

    def on_train_end(self, logs=None):
        self.average()'''

_PRECISION = '''def compute_in(policy, model, float32_layers=()):
    """Let all layers, also those inside of others, compute in `policy`; the weights stay float32."""
    for layer in model._flatten_layers():
        layer.dtype_policy = policy
    for place in float32_layers:
        model.layers[place].dtype_policy = "float32"
    # The compiled steps are made anew.
    model.train_function = model.test_function = model.predict_function = None'''

_DIVIDED = '''def divide_gradients(model, by):
    """Let each optimizer of a model divide the gradients that it is given; by 1 leaves them as they are."""

    def divided(gradient):
        if isinstance(gradient, tf.IndexedSlices):
            return tf.IndexedSlices(gradient.values / by, gradient.indices, gradient.dense_shape)
        return None if gradient is None else gradient / by

    def dividing(optimizer):
        def apply(grads, trainable_variables=None):
            return type(optimizer).apply(optimizer, list(map(divided, grads)), trainable_variables)

        return apply

    optimizers = {id(one): one for one in vars(model).values() if isinstance(one, keras.optimizers.Optimizer)}
    optimizers[id(model.optimizer)] = model.optimizer
    for optimizer in optimizers.values():
        optimizer.apply = dividing(optimizer)
    model.train_function = None  # the compiled step is made anew'''

# What a function that makes batches has besides, where they come out of files.
OF_FILES = {
    "{argument}": ", first_pass=None",
    "{explained}": """
        first_pass: Seed and number of the pass over the files to begin with.""",
    "{begin}": """
        if first_pass is not None:
            Passes.begin(*first_pass)""",
}
# What it has where batches are made ahead of the training, so that none is made that it does not take.
OF_COUNTED = {
    "{most}": ", most=None",
    "{counted}": """
        most: Batches that the training takes; None for all.""",
}
HELPERS = {
    **FILE_HELPERS,
    **FEED_HELPERS,
    **LENGTH_HELPERS,
    "full_batches": _FULL_BATCHES,
    "full_batches_in_order": _IN_ORDER,
    "full_batches_of": _OF,
    "ValidateEveryRow": "",  # the text depends on what trains
    "AverageStatistics": _STATISTICS,
    "compute_in": _PRECISION,
    "divide_gradients": _DIVIDED,
}
MAKERS = ("full_batches", "full_batches_in_order", "full_batches_of")


def helpers_text(used: Iterable[str], backend: str, replicas: int = 1) -> str:
    """Return the text of the helpers that are used, in an order in which they can be read.

    Args:
        used: Names in `HELPERS`.
        backend: ``"jax"`` or ``"tensorflow"``: what the batches are handed to Keras as.
        replicas: Devices that share a batch.
    """
    wanted = set(used)
    for name, needed in NEEDS.items():
        wanted |= set(needed) if name in wanted else set()
    if "images_of_folder" in wanted and "cropped_image_of_size" not in wanted:
        wanted.add("image_of_size")
    if "ValidateEveryRow" in wanted and backend == "tensorflow" and replicas > 1:
        wanted.add("in_order")
    in_lengths = "full_batches_in_lengths" in wanted
    # Keras takes a PyDataset that does not know its length for endless.
    finite = backend != "jax" or "finite" in wanted
    if backend == "jax" and (in_lengths or wanted & set(MAKERS)):
        wanted.add("Endless")
    if finite:
        wanted |= {"as_dataset_in_lengths"} if in_lengths else set()
        wanted |= {"as_dataset"} if wanted & set(MAKERS) else set()
    wanted |= {"for_tf_data"} if wanted & {"as_dataset", "as_dataset_in_lengths"} else set()
    texts = [(name, text) for name, text in HELPERS.items() if name in wanted]
    return "\n\n\n".join(_filled(name, text, backend, "Passes" in wanted, finite, replicas) for name, text in texts)


def _filled(name: str, text: str, backend: str, of_files: bool, finite: bool, replicas: int) -> str:
    if name == "ValidateEveryRow":
        return validation_helper(backend, replicas)
    counted = "most" if finite and "{most}" in text else ""
    made = f"as_dataset(batches, batch_size{counted and ', most'})"
    if name == "full_batches_in_lengths":
        made = f"as_dataset_in_lengths(batches, batch_size, longest{counted and ', most'})"
    if backend == "jax":
        ends = finite and name in ("full_batches_of", "full_batches_in_lengths")
        made = f"Endless(batches) if forever else {made}" if ends else "Endless(batches)"
    for place, more in OF_FILES.items():
        text = text.replace(place, more if of_files else "")
    for place, more in OF_COUNTED.items():
        text = text.replace(place, more if counted else "")
    return text.replace("{made}", made)
