"""Read a folder of images as batches of uint8, decoded in parallel and kept in memory where they fit."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DataError
from ..rewrite.done import Done
from .cache import DecodedCache, cache_for
from .decode import Decoder
from .folders import Listing, listing, split
from .notes import FileNotes, with_notes
from .passes import Passes

LABELS = ("int", "categorical", "binary", None)
CHANNELS = {"rgb": 3, "grayscale": 1}
WHY = (
    "Files are read and decoded on all cores, and images travel as uint8, a quarter of float32. "
    "From the second epoch on they come out of memory where all of them fit."
)


def images(
    folder: str | os.PathLike[str],
    size: tuple[int, int] = (256, 256),
    batch_size: int = 32,
    labels: str | None = "int",
    color_mode: str = "rgb",
    crop: bool = False,
    shuffle: bool = True,
    seed: int | None = None,
    validation_split: float | None = None,
    subset: str | None = None,
    cache: bool = True,
) -> Any:
    """Return the images of a folder as a ``tf.data.Dataset``, like ``image_dataset_from_directory`` and faster.

    Args:
        folder: Its sub-folders are the classes, in the order of their names.
        size: ``(height, width)`` of every image.
        batch_size: Rows in a batch; ``%%tpu_fit`` chooses its own.
        labels: ``"int"``, ``"categorical"`` (one-hot), ``"binary"`` (0 or 1), or None for images alone.
        color_mode: ``"rgb"`` or ``"grayscale"``.
        crop: Cut the middle of that size out of each image, which needs only that part decoded;
            False scales the whole image, whatever its proportions.
        shuffle: Whether images come in a new order each epoch.
        seed: Makes the order, and the split, the same each time.
        validation_split: Share of the files that is kept for validation.
        subset: ``"training"`` or ``"validation"``, with ``validation_split``.
        cache: Keep decoded images in memory if all of them take at most a quarter of what is free.

    Returns:
        A dataset of ``(images, labels)``, images ``(batch, height, width, channels)`` uint8 from 0
        to 255. It has ``class_names`` and ``file_paths``.

    Raises:
        DataError: When the folder or an argument cannot be used.

    Example:
        >>> flowers = images("flowers/", size=(224, 224), seed=0)  # doctest: +SKIP
        >>> model.fit(flowers, epochs=5)  # doctest: +SKIP
    """
    if labels not in LABELS:
        raise DataError(f"labels={labels!r} is not known.", expected='"int", "categorical", "binary" or None.')
    if color_mode not in CHANNELS:
        raise DataError(f"color_mode={color_mode!r} is not known.", expected='"rgb" or "grayscale".')
    _check_sizes(size, batch_size)
    files = split(listing(os.fspath(folder), labels is not None), validation_split, subset, shuffle, seed)
    if labels == "binary" and len(files.class_names) != 2:
        raise DataError(
            f'labels="binary" is for two classes, and there are {len(files.class_names)}: {", ".join(files.class_names)}.',
            expected="two sub-folders.",
            type_next=f'tpu.images({os.fspath(folder)!r}, labels="int")',
        )
    shape = (*size, CHANNELS[color_mode])
    kept, said = cache_for(len(files.paths), shape) if cache else (None, "not cached: cache=False")
    jpeg = all(path.lower().endswith((".jpg", ".jpeg")) for path in files.paths)
    decoder = Decoder(size, shape[2], crop, jpeg)
    reader = Images(files, _targets(files, labels), shape, decoder, shuffle, Passes.of(seed), kept)
    cut = "the middle cut out while decoding" if crop else "scaled to one size"
    after = f"decoded in parallel as uint8, {cut}; {said}"
    done = Done(
        "input-pipeline",
        f"{len(files.paths):,} image files",
        after,
        WHY,
        "cache=False, or image_dataset_from_directory",
    )
    notes = FileNotes("image folder", len(files.paths), batch_size, (done,), reader.batches, reader.passes)
    return _as_dataset(reader, batch_size, notes)


@dataclass
class Images:
    """Make batches of a listing, pass by pass.

    Attributes:
        files: What to read.
        targets: One per file, ``(files,)`` or ``(files, classes)``, or None.
        shape: ``(height, width, channels)`` of each image.
        decoder: Decodes the files.
        shuffle: Whether each pass has a new order.
        passes: The order of each pass.
        cache: Where decoded images are kept, or None.
    """

    files: Listing
    targets: np.ndarray | None
    shape: tuple[int, int, int]
    decoder: Decoder
    shuffle: bool
    passes: Passes
    cache: DecodedCache | None = None

    def batches(self, batch_size: int, forever: bool) -> Iterator[Any]:
        """Yield ``(images, targets)``, or images alone; forever, pass follows pass and every batch is full."""
        left = np.empty(0, np.int64)
        while True:
            line = np.concatenate([left, self._order()])
            stop = len(line) // batch_size * batch_size if forever else len(line)
            yield from self._read([line[at : at + batch_size] for at in range(0, stop, batch_size)])
            if not forever:
                return
            left = line[stop:]

    def _order(self) -> np.ndarray:
        rows, number = len(self.files.paths), self.passes.next()
        return np.random.default_rng((self.passes.seed, number)).permutation(rows) if self.shuffle else np.arange(rows)

    def _read(self, batches: list[np.ndarray]) -> Iterator[Any]:
        """Yield batches of row numbers as images: those in the cache from there, the others decoded in one go."""
        missing = [self.cache is None or not self.cache.has(rows) for rows in batches]
        paths = [self.files.paths[at] for rows, away in zip(batches, missing, strict=True) if away for at in rows]
        fresh = self.decoder.batches(paths, len(batches[0])) if paths else iter(())
        for rows, away in zip(batches, missing, strict=True):
            if away:
                pixels = next(fresh)
                if self.cache is not None:
                    self.cache.put(rows, pixels)
            else:
                assert self.cache is not None
                pixels = self.cache.take(rows)
            yield pixels if self.targets is None else (pixels, self.targets[rows])


def _targets(files: Listing, labels: str | None) -> np.ndarray | None:
    if labels is None:
        return None
    if labels == "categorical":
        return np.eye(len(files.class_names), dtype="float32")[files.labels]
    return files.labels.astype("float32")[:, None] if labels == "binary" else files.labels


def _as_dataset(reader: Images, batch_size: int, notes: FileNotes) -> Any:
    import tensorflow as tf

    from ..rewrite.python_dataset import python_dataset

    pixels = tf.TensorSpec((None, *reader.shape), tf.uint8)
    targets = reader.targets
    signature = pixels if targets is None else (pixels, tf.TensorSpec((None, *targets.shape[1:]), targets.dtype))
    dataset = python_dataset(lambda: reader.batches(batch_size, False), signature)
    count = -(-len(reader.files.paths) // batch_size)
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(count)).prefetch(1)
    dataset.class_names, dataset.file_paths = list(reader.files.class_names), list(reader.files.paths)
    return with_notes(dataset, notes)


def _check_sizes(size: tuple[int, int], batch_size: int) -> None:
    whole = (int, np.integer)
    if not isinstance(size, tuple | list) or len(size) != 2 or not all(isinstance(n, whole) and n > 0 for n in size):
        raise DataError(f"size={size!r} cannot be used.", expected="(height, width).", type_next="size=(224, 224)")
    if not isinstance(batch_size, whole) or batch_size < 1:
        raise DataError(f"batch_size={batch_size!r} cannot be used.", expected="a positive whole number.")
