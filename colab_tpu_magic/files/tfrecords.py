"""Read TFRecord files as batches: several files side by side, parsed many rows at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import DataError
from ..rewrite.done import Done
from .feature_spec import Feature, read_features, suggestion
from .notes import FileNotes, with_notes
from .passes import Passes
from .paths import matching
from .records import count_records, first_example

PARSED_ROWS = 256
FILES_AT_ONCE = 16
SHUFFLED_ROWS = 16_384
WHY = (
    "Parsing row by row costs more than a small step. Files are read side by side, rows are parsed in bulk, "
    "and the order of the files and of the rows among each other changes each epoch."
)


def tfrecords(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    features: Mapping[str, Any] | None = None,
    label: str | Sequence[str] | None = None,
    map: Callable[[dict[str, Any]], Any] | None = None,
    batch_size: int = 32,
    shuffle: bool = True,
    seed: int | None = None,
    compression: str = "",
) -> Any:
    """Return the rows of TFRecord files as a ``tf.data.Dataset``.

    Args:
        files: A path, a pattern such as ``"data/*.tfrecord"``, or a list of them.
        features: Name to dtype, to ``(dtype, shape)``, or to a feature of ``tf.io``. A shape of
            ``(None,)`` is for rows of varying length, ``("uint8", shape)`` for raw bytes.
        label: Which feature is the target; several give a dict. None gives inputs alone.
        map: Makes one row, ``x`` or ``(x, y)``, from the dict of its features; for images that have
            to be decoded. Not together with ``label``.
        batch_size: Rows in a batch; ``%%tpu_fit`` chooses its own.
        shuffle: Whether files and rows come in a new order each epoch, rows among 16,384 others.
        seed: Makes the order the same each time.
        compression: ``""``, ``"GZIP"`` or ``"ZLIB"``.

    Returns:
        A dataset of ``x`` or ``(x, y)``; ``x`` is a dict where more than one feature is left.

    Raises:
        DataError: When no file matches, or the features do not fit the records.

    Example:
        >>> rows = tfrecords("data/*.tfrecord", {"x": ("float32", (20,)), "y": "int64"}, label="y")  # doctest: +SKIP
        >>> model.fit(rows, epochs=5)  # doctest: +SKIP
    """
    import tensorflow as tf

    paths = matching(files)
    found = first_example(paths[0], compression)
    if features is None:
        raise DataError(
            f"tpu.tfrecords needs the features to read; the records have {_told(found)}.",
            expected="features and the label among them.",
            type_next=f"tpu.tfrecords({os.fspath(files) if isinstance(files, str | os.PathLike) else 'files'!r}, "
            f'features={suggestion(found)}, label="{list(found)[-1]}")',
        )
    wanted = read_features(features)
    labels = [label] if isinstance(label, str) else list(label or ())
    _check(wanted, labels, found, map)
    rows = None if compression else count_records(paths)

    ragged = any(feature.ragged for feature in wanted.values())
    at_once = batch_size if ragged else max(batch_size, PARSED_ROWS)
    passes = Passes.of(seed) if shuffle else None
    serialized = _serialized(paths, passes, compression, min(SHUFFLED_ROWS, rows or SHUFFLED_ROWS), at_once)
    parsed = serialized.map(_parser(wanted), num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    if map is not None:
        single = parsed.unbatch().map(map, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
        dataset = single.batch(batch_size)
    else:
        dataset = parsed.map(lambda row: _as_pair(row, labels), num_parallel_calls=tf.data.AUTOTUNE)
        dataset = dataset if at_once == batch_size else dataset.rebatch(batch_size)
    if rows is not None:
        dataset = dataset.apply(tf.data.experimental.assert_cardinality(-(-rows // batch_size)))
    order = (
        f", files and rows mixed (rows among {min(SHUFFLED_ROWS, rows or SHUFFLED_ROWS):,})"
        if shuffle
        else ", in order"
    )
    count = f"{len(paths):,} TFRecord file{'s' if len(paths) != 1 else ''}"
    before = count if rows is None else f"{count}, {rows:,} rows"
    at_a_time = f"parsed {at_once:,} rows at a time" + (", mapped on all cores" if map is not None else "")
    done = Done("input-pipeline", before, f"read side by side, {at_a_time}{order}", WHY, "tf.data.TFRecordDataset")
    notes = FileNotes("TFRecord dataset", rows, batch_size, (done,), passes=passes)
    return with_notes(dataset.prefetch(tf.data.AUTOTUNE), notes)


def _serialized(paths: list[str], passes: Passes | None, compression: str, among: int, at_once: int) -> Any:
    """Return the records as they lie in the files, in batches; mixed in an order of its own each pass.

    Args:
        paths: The files.
        passes: Number the passes, None to leave rows in their order.
        compression: Of the files.
        among: Rows that are mixed among each other.
        at_once: Rows in a batch.
    """
    import tensorflow as tf

    def records(path: Any) -> Any:
        return tf.data.TFRecordDataset(path, compression_type=compression)

    names = tf.data.Dataset.from_tensor_slices(paths)
    if passes is None:
        return names.flat_map(records).batch(at_once)

    def one_pass(seed: Any) -> Any:
        # Of the function's own graph alone: the order is then that of our seed, whatever seeds the user sets.
        tf.random.set_seed(1)
        rows = names.shuffle(len(paths), seed, reshuffle_each_iteration=False).interleave(
            records,
            cycle_length=min(len(paths), FILES_AT_ONCE),
            block_length=PARSED_ROWS // FILES_AT_ONCE,
            num_parallel_calls=tf.data.AUTOTUNE,
            deterministic=True,
        )
        return rows.shuffle(among, seed, reshuffle_each_iteration=False).batch(at_once)

    def begin(_: Any) -> Any:
        return tf.ensure_shape(tf.numpy_function(lambda: np.int64(passes.next_seed()), [], tf.int64), ())

    # Not `from_generator`: see rewrite/python_dataset.py.
    return tf.data.Dataset.range(1).map(begin).flat_map(one_pass)


def _parser(wanted: Mapping[str, Feature]) -> Callable[[Any], dict[str, Any]]:
    import tensorflow as tf

    def parse(serialized: Any) -> dict[str, Any]:
        parsed = tf.io.parse_example(serialized, {name: feature.parser for name, feature in wanted.items()})
        return {name: feature.finished(parsed[name]) for name, feature in wanted.items()}

    return parse


def _as_pair(row: dict[str, Any], labels: list[str]) -> Any:
    inputs = {name: part for name, part in row.items() if name not in labels}
    x = next(iter(inputs.values())) if len(inputs) == 1 else inputs
    if not labels:
        return x
    return x, (row[labels[0]] if len(labels) == 1 else {name: row[name] for name in labels})


def _check(wanted: Mapping[str, Feature], labels: list[str], found: Mapping[str, tuple[str, int]], map: Any) -> None:
    """Raise DataError when features, label and the first record do not go together."""
    if map is not None and labels:
        raise DataError("Both label and map were given.", expected="one of them: map returns (x, y) itself.")
    unknown = [name for name in labels if name not in wanted]
    if unknown:
        raise DataError(
            f"label={unknown[0]!r} is not among the features.",
            expected=f"one of {', '.join(wanted)}.",
            type_next=f'label="{list(wanted)[-1]}"',
        )
    if labels and len(labels) == len(wanted):
        raise DataError("Every feature is a label, and no input is left.", expected="one feature more.")
    for name, feature in wanted.items():
        optional = feature.ragged or getattr(feature.parser, "default_value", None) is not None
        if name not in found:
            if optional:
                continue
            raise _does_not_fit(f"The records have no feature {name!r}; they have {_told(found)}.", found)
        kind, count = found[name]
        if feature.kind and feature.kind != kind:
            raise _does_not_fit(f"The feature {name!r} holds {kind}, and was asked for as {feature.kind}.", found)
        shape = getattr(feature.parser, "shape", None)
        if shape is not None and count != _size(shape):
            raise _does_not_fit(
                f"The feature {name!r} has {count} values, and was asked for with {_size(shape)}.", found
            )


def _size(shape: Any) -> int:
    total = 1
    for length in shape:
        total *= int(length)
    return total


def _does_not_fit(what: str, found: Mapping[str, tuple[str, int]]) -> DataError:
    return DataError(what, "what the records hold.", f"features={suggestion(found)}")


def _told(found: Mapping[str, tuple[str, int]]) -> str:
    return ", ".join(
        f"{name} ({count} × {kind})" if count != 1 else f"{name} ({kind})" for name, (kind, count) in found.items()
    )
