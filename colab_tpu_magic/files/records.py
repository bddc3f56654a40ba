"""Look into TFRecord files without parsing them: what a record holds, and how many there are."""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections.abc import Sequence
from typing import Any

from ..errors import DataError

HEAD_BYTES, TAIL_BYTES = 12, 4
MOST_SECONDS = 1.0


def count_records(files: Sequence[str], most_seconds: float = MOST_SECONDS) -> int | None:
    """Return the records in local, uncompressed files, None when that is not known in a second.

    Each record begins with its length in eight bytes and a checksum of that in four; only these
    are looked at.

    Raises:
        DataError: When a file ends in the middle of a record.
    """
    began, count = time.perf_counter(), 0
    for path in files:
        if not os.path.isfile(path):
            return None
        size = os.path.getsize(path)
        if not size:
            continue
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            at = 0
            while at < size:
                if at + HEAD_BYTES > size:
                    raise _broken(path)
                at += HEAD_BYTES + TAIL_BYTES + struct.unpack_from("<Q", content, at)[0]
                count += 1
                if count % 1000 == 0 and time.perf_counter() - began > most_seconds:
                    return None
            if at > size:
                raise _broken(path)
    return count


def first_example(path: str, compression: str) -> dict[str, tuple[str, int]]:
    """Return the features of a file's first record: name to kind (``int64``, ``float32``, ``bytes``) and count.

    Raises:
        DataError: When the file is empty, or no TFRecord of ``tf.train.Example``.
    """
    import tensorflow as tf

    try:
        record: Any = next(tf.data.TFRecordDataset(path, compression_type=compression).as_numpy_iterator(), None)
    except tf.errors.OpError:
        raise _broken(path) from None
    if record is None:
        raise DataError(f"{path!r} is empty.", expected="at least one record.")
    try:
        features = tf.train.Example.FromString(record).features.feature
    except Exception:
        raise DataError(
            f"A record of {path!r} is no tf.train.Example.",
            expected="records written with tf.train.Example.",
            type_next="tf.data.TFRecordDataset(files).map(your_own_parser, num_parallel_calls=tf.data.AUTOTUNE)",
        ) from None
    kinds = {"int64_list": "int64", "float_list": "float32", "bytes_list": "bytes"}
    found = {}
    for name, feature in sorted(features.items()):
        kind = feature.WhichOneof("kind")
        if kind is not None:
            found[name] = (kinds[kind], len(getattr(feature, kind).value))
    return found


def _broken(path: str) -> DataError:
    return DataError(
        f"{path!r} is no whole TFRecord file.",
        expected='an uncompressed file, or compression="GZIP".',
        type_next='tpu.tfrecords(files, features, compression="GZIP")',
    )
