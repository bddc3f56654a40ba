"""Decode image files to uint8 in parallel: cut while decoding where only the middle is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import DataError


class Decoder:
    """Decode images of a size, pass after pass; what TensorFlow traces is traced once.

    Where all files are called JPEG and only the middle is wanted, it is taken for granted that they
    are and are large enough, which saves TensorFlow two branches an image; the first that is not
    ends that for good.

    Args:
        size: ``(height, width)``.
        channels: 1 or 3.
        crop: Cut the middle out rather than scale the whole.
        jpeg: Whether all files are called JPEG.
    """

    def __init__(self, size: tuple[int, int], channels: int, crop: bool, jpeg: bool) -> None:
        self._careful = _traced(decoder(size, channels, crop))
        self._decode = _traced(_only_cut(size, channels)) if crop and jpeg else self._careful

    def batches(self, paths: Sequence[str], batch_size: int) -> Iterator[np.ndarray]:
        """Yield images in the order of their paths, ``(batch_size, height, width, channels)`` uint8.

        Raises:
            DataError: When a file is no image, with its path.
        """
        import tensorflow as tf

        start = 0
        while start < len(paths):
            decode, rest = self._decode, list(paths[start:])
            files = tf.data.Dataset.from_tensor_slices(rest)
            # Called in a function of Python's own: a traced one alone is not taken apart by tf.data.
            images = files.map(lambda path, f=decode: f(path), num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
            try:
                for batch in images.batch(batch_size).prefetch(2).as_numpy_iterator():
                    start += len(batch)
                    yield batch
            except tf.errors.OpError as error:
                if decode is self._careful:
                    # What is decoded in parallel may be ahead of the batch that was asked for.
                    raise _named(rest, decode, error) from None
                self._decode = self._careful


def _traced(decode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    import tensorflow as tf

    traced = tf.function(decode, input_signature=[tf.TensorSpec((), tf.string)]).get_concrete_function()
    return lambda path: traced(path)


def _only_cut(size: tuple[int, int], channels: int) -> Callable[[Any], Any]:
    """Return the function from the path of a JPEG file to its middle."""
    import tensorflow as tf

    def decode(path: Any) -> Any:
        contents = tf.io.read_file(path)
        shape = tf.io.extract_jpeg_shape(contents)
        top, left = (shape[0] - size[0]) // 2, (shape[1] - size[1]) // 2
        image = tf.io.decode_and_crop_jpeg(contents, [top, left, *size], channels=channels, dct_method="INTEGER_FAST")
        return tf.ensure_shape(image, (*size, channels))

    return decode


def decoder(size: tuple[int, int], channels: int, crop: bool) -> Callable[[Any], Any]:
    """Return the function from a path to an image of a size, uint8.

    Args:
        size: ``(height, width)``.
        channels: 1 or 3.
        crop: Cut the middle out at its own scale, and scale only what is smaller than that; or
            scale the whole image, as ``image_dataset_from_directory`` does.
    """
    import tensorflow as tf

    height, width = size

    def scaled(image: Any, to: Any) -> Any:
        image.set_shape((None, None, channels))
        return tf.cast(tf.round(tf.image.resize(image, to)), tf.uint8)

    def whole(contents: Any) -> Any:
        image = tf.io.decode_image(contents, channels=channels, expand_animations=False)
        image.set_shape((None, None, channels))
        return tf.cond(
            tf.reduce_all(tf.shape(image)[:2] == [height, width]), lambda: image, lambda: scaled(image, size)
        )

    def covering(contents: Any) -> Any:
        image = tf.io.decode_image(contents, channels=channels, expand_animations=False)
        shape = tf.cast(tf.shape(image)[:2], tf.float32)
        factor = tf.maximum(1.0, tf.reduce_max(tf.constant([height, width], tf.float32) / shape))
        to = tf.maximum([height, width], tf.cast(tf.round(shape * factor), tf.int32))
        large = tf.cond(factor > 1.0, lambda: scaled(image, to), lambda: image)
        top, left = (to[0] - height) // 2, (to[1] - width) // 2
        return large[top : top + height, left : left + width]

    def middle(contents: Any) -> Any:
        shape = tf.io.extract_jpeg_shape(contents)
        top, left = (shape[0] - height) // 2, (shape[1] - width) // 2

        def cut() -> Any:
            return tf.io.decode_and_crop_jpeg(
                contents, [top, left, height, width], channels=channels, dct_method="INTEGER_FAST"
            )

        return tf.cond((top >= 0) & (left >= 0), cut, lambda: covering(contents))

    def decode(path: Any) -> Any:
        contents = tf.io.read_file(path)
        if crop:
            image = tf.cond(tf.io.is_jpeg(contents), lambda: middle(contents), lambda: covering(contents))
        else:
            image = whole(contents)
        return tf.ensure_shape(image, (height, width, channels))

    return decode


def _named(paths: Sequence[str], decode: Callable[[Any], Any], error: Exception) -> DataError:
    """Return what to say of the first file that cannot be decoded."""
    import tensorflow as tf

    for path in paths:
        try:
            decode(tf.constant(path))
        except tf.errors.OpError as own:
            error = own
            break
    else:
        path = "An image"
    return DataError(
        f"{path} cannot be read as an image: {str(error).strip().splitlines()[0][:200]}",
        expected="JPEG, PNG, BMP or GIF files.",
        type_next=f"!rm {path!r}" if path != "An image" else "",
    )
