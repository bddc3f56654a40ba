"""pandas' DataFrame and Series, and what has their methods: columns of numbers, truth values and categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import DataError
from .base import Conversion
from .uneven import check_objects


def read_frame(leaf: Any, name: str) -> tuple[Any, Conversion | None] | None:
    """Return a DataFrame as (rows, columns) and a Series as (rows, 1), as Keras does; of weights (rows,)."""
    if type(leaf).__module__.split(".")[0] != "pandas" or not hasattr(leaf, "to_numpy"):
        return None
    if leaf.ndim == 1:
        codes = _categories(leaf)
        array = _numbers(leaf, name, name)
        array = array if name == "sample_weight" else array[:, None]
        if codes is None:
            return array, None
        return array, Conversion(
            f"{name}: categories", f"their numbers, 0 to {codes - 1}", f"{name} = {name}.cat.codes"
        )
    plain = [dtype for dtype in leaf.dtypes if isinstance(dtype, np.dtype) and dtype.kind in "fiub"]
    if len(plain) == len(leaf.columns) and (len({dtype.kind == "b" for dtype in plain}) == 1):
        return leaf.to_numpy(), None  # one block of memory is not copied
    columns = [(str(label), leaf.iloc[:, at]) for at, label in enumerate(leaf.columns)]
    for label, column in columns:
        if column.dtype == object:
            target = label if label.isidentifier() else "rows"
            check_objects(column.to_numpy(), f"{name}[{label!r}]", "a Series", target)
    text = [label for label, column in columns if _kind(column) == "text"]
    if text:
        raise DataError(
            f"{name} holds text in {_listed(text)}.",
            expected="numbers, or categories: a TPU has no strings.",
            type_next=f"{name}[{text!r}] = {name}[{text!r}].astype('category')",
        )
    arrays = [_numbers(column, f"{name}[{label!r}]", name) for label, column in columns]
    array = np.stack([one.astype("float32", copy=False) for one in arrays], axis=1)
    categories = [label for label, column in columns if _categories(column) is not None]
    if not categories:
        return array, None
    by_hand = f"{name} = pandas.get_dummies({name})"
    return array, Conversion(f"{name}: categories in {_listed(categories)}", "their numbers, from 0", by_hand)


def _numbers(series: Any, what: str, name: str) -> np.ndarray:
    """Return a column as an array of numbers.

    Raises:
        DataError: For text, dates and missing values that are no floats.
    """
    kind = _kind(series)
    if kind == "text":
        if series.dtype == object:
            check_objects(series.to_numpy(), what, "a Series")
        if name == "y":
            type_next = 'y = y.astype("category")'
        else:
            type_next = f'{what} = {what}.astype("category")'
        raise DataError(
            f"{what} holds text or Python objects (dtype {series.dtype}).", "numbers: a TPU has no strings.", type_next
        )
    if kind == "date":
        raise DataError(
            f"{what} holds dates or times ({series.dtype}).",
            expected="numbers.",
            type_next=f'{what} = ({what} - {what}.min()).dt.total_seconds().astype("float32")',
        )
    nullable = not isinstance(series.dtype, np.dtype)
    missing = int(series.isna().sum()) if nullable else 0
    if missing:
        raise DataError(
            f"{what} has {missing:,} missing value{'s' if missing != 1 else ''}.",
            expected="a number in every row.",
            type_next=f"{name} = {name}.fillna(0)" if kind != "category" else f"{name} = {name}.dropna()",
        )
    if kind == "category":
        return np.asarray(series.cat.codes, "int32")
    if kind == "bool":
        return np.asarray(series.to_numpy(dtype="bool" if nullable else None), "float32")
    return np.asarray(series.to_numpy(dtype=_numpy_name(series.dtype)) if nullable else series.to_numpy())


def _kind(series: Any) -> str:
    """Return ``"number"``, ``"bool"``, ``"category"``, ``"date"`` or ``"text"``."""
    import pandas

    dtype = series.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        return "category"
    if pandas.api.types.is_bool_dtype(dtype):
        return "bool"
    if pandas.api.types.is_datetime64_any_dtype(dtype) or pandas.api.types.is_timedelta64_dtype(dtype):
        return "date"
    return "number" if pandas.api.types.is_numeric_dtype(dtype) else "text"


def _numpy_name(dtype: Any) -> str | None:
    """Return the NumPy dtype behind a nullable one: ``Int64`` is ``int64``."""
    behind = getattr(dtype, "numpy_dtype", None) or getattr(dtype, "subtype", None)
    return None if behind is None else np.dtype(behind).name


def _categories(series: Any) -> int | None:
    return len(series.cat.categories) if _kind(series) == "category" else None


def _listed(labels: list[str]) -> str:
    shown = ", ".join(labels[:4])
    more = len(labels) - 4
    return f"the column{'s' if len(labels) != 1 else ''} {shown}" + (f" and {more} more" if more > 0 else "")
