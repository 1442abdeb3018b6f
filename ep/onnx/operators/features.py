"""Operators of ai.onnx.ml that prepare features, and the one that names scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ep import ops
from ep.onnx.operators.fitting import check
from ep.onnx.operators.line import line, one_of
from ep.onnx.operators.linear import in_rows
from ep.onnx.operators.placing import placed
from ep.onnx.operators.scores import class_labels

NDArray = np.ndarray[Any, Any]


def _of_features(name: str, numbers: Sequence[float], x: Any, dtype: Any = np.float32) -> Any:
    """Return the numbers of an attribute, one for all features of x or one for each."""
    features = x.shape[-1] if len(x.shape) else 1
    check(len(numbers) in (1, features), f"{name} of length", len(numbers), f"1 or {features}, the features of X")
    return placed(np.array(numbers, dtype), x)


@line("Scaler", 1, domain="ai.onnx.ml")
def scaler(x: Any, offset: Sequence[float] = (), scale: Sequence[float] = ()) -> Any:
    """Return the differences of features and offsets, times scales."""
    found = ops.cast(x, np.float32)
    if len(offset):
        found = ops.sub(found, _of_features("offset", offset, x))
    return ops.mul(found, _of_features("scale", scale, x)) if len(scale) else ops.identity(found)


@line("Normalizer", 1, domain="ai.onnx.ml", check=one_of(norm=("MAX", "L1", "L2")))
def normalizer(x: Any, norm: str) -> Any:
    """Return each row over its norm: its largest element, the sum of magnitudes, or the root of the sum of squares.

    A row whose norm is 0 stays as it is.
    """
    x = ops.cast(in_rows(x), np.float32)
    if x.shape[1] == 0:
        return ops.identity(x)
    if norm == "MAX":
        size = ops.max(x, 1, keepdims=True)
    elif norm == "L1":
        size = ops.sum(ops.abs(x), 1, keepdims=True)
    else:
        size = ops.sqrt(ops.sum(ops.mul(x, x), 1, keepdims=True))
    return ops.where(ops.equal(size, 0.0), x, ops.div(x, size))


@line("Binarizer", 1, domain="ai.onnx.ml")
def binarizer(x: Any, threshold: float) -> Any:
    """Return 1 for elements above the threshold, and 0 for others."""
    return ops.cast(ops.greater(x, _number(threshold, x.dtype)), x.dtype)


def _number(value: float, dtype: Any) -> Any:
    """Return the largest number of a dtype that is not above a value: the same elements are above it."""
    return value if np.dtype(dtype).kind == "f" else int(np.clip(np.floor(value), *_limits(dtype)))


def _limits(dtype: Any) -> tuple[int, int]:
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def _prepared_imputer(given: dict[str, Any]) -> dict[str, Any]:
    floats, integers = given.get("imputed_value_floats"), given.get("imputed_value_int64s")
    if bool(floats) == bool(integers):
        came = "both" if floats else "neither"
        raise ValueError(f"imputed_value_floats, imputed_value_int64s: {came} is given; one of them must be")
    replaced = given.get("replaced_value_float" if floats else "replaced_value_int64", 0)
    return {"imputed": floats or integers, "replaced": replaced, "is_float": bool(floats)}


@line("Imputer", 1, domain="ai.onnx.ml", prepare=_prepared_imputer)
def imputer(x: Any, imputed: Sequence[float], replaced: float, is_float: bool) -> Any:
    """Return x with other numbers, one for all features or one for each, in the place of one number, such as NaN."""
    check((np.dtype(x.dtype).kind == "f") == is_float, "X of dtype", x.dtype, "of the kind of the imputed values")
    missing = ops.is_nan(x) if replaced != replaced else ops.equal(x, placed(np.array(replaced, x.dtype), x))
    return ops.where(missing, _of_features("imputed values", imputed, x, x.dtype), x)


@line("FeatureVectorizer", 1, domain="ai.onnx.ml")
def feature_vectorizer(*xs: Any, inputdimensions: Sequence[int] = ()) -> Any:
    """Return the first features of several arrays beside one another, as many of each as `inputdimensions` says."""
    found = [in_rows(one) for one in xs]
    check(len(inputdimensions) in (0, len(xs)), "inputdimensions of length", len(inputdimensions), f"{len(xs)}")
    sizes = [one.shape[1] for one in found]
    for size, wanted in zip(sizes, inputdimensions, strict=False):
        check(0 <= wanted <= size, "inputdimensions", [*inputdimensions], f"at most {sizes}")
    pairs = zip(found, inputdimensions or sizes, strict=True)
    parts = [one if one.shape[1] == size else ops.slice(one, None, (0, size)) for one, size in pairs]
    return ops.concat([ops.cast(one, np.float32) for one in parts], 1)


@line("ArrayFeatureExtractor", 1, domain="ai.onnx.ml", indices="Y")
def array_feature_extractor(x: Any, indices: Any) -> Any:
    """Return the elements at some indices of the last axis; an array of one axis has one row."""
    check(len(x.shape) >= 1, "X of shape", tuple(x.shape), "of one axis or more")
    x = x if len(x.shape) > 1 else x.reshape((1, *x.shape))
    return ops.gather(x, indices.reshape((-1,)), len(x.shape) - 1)


def _prepared_one_hot(given: dict[str, Any]) -> dict[str, Any]:
    if given.get("cats_strings"):
        raise NotImplementedError("cats_strings are not served: its input is of strings")
    if not given.get("cats_int64s"):
        raise ValueError("cats_int64s: there are no categories")
    return {"cats": given["cats_int64s"], "zeros": given["zeros"]}


@line("OneHotEncoder", 1, domain="ai.onnx.ml", prepare=_prepared_one_hot, indices="the category of X")
def one_hot_encoder(x: Any, cats: Sequence[int], zeros: int) -> Any:
    """Return a row for each element, with 1 at its category and 0 elsewhere.

    An element of no category has a row of zeros or, without `zeros`, is an error.
    """
    found = _equal(ops.cast(x, np.int64), np.array(cats, np.int64))
    if zeros:
        return ops.cast(found, np.float32)
    return ops.gather(placed(np.eye(len(cats), dtype=np.float32), x), _place(found))


def _equal(x: Any, keys: NDArray) -> Any:
    """Return whether elements are equal to keys, for each element and each key."""
    return ops.equal(x.reshape((*x.shape, 1)), placed(keys, x))


def _place(found: Any) -> Any:
    """Return the place of the first true element in each row, or, without any, the number of elements."""
    last = placed(np.ones((1,) * len(found.shape), bool), found)
    every = ops.concat([found, ops.broadcast_to(last, (*found.shape[:-1], 1))], len(found.shape) - 1)
    return ops.argmax(every, len(found.shape) - 1)


_KINDS = {"strings": str, "int64s": int, "floats": float}


def _column(given: Mapping[str, Any], name: str) -> tuple[str, list[Any]]:
    """Return the kind and the elements of the keys or the values of a LabelEncoder."""
    tensor = given.get(f"{name}_tensor")
    found = {kind: [*given[f"{name}_{kind}"]] for kind in _KINDS if given.get(f"{name}_{kind}")}
    if tensor is not None:
        found["tensor"] = tensor.reshape(-1).tolist()
    if len(found) != 1:
        raise ValueError(f"{name}: {len(found)} attributes have them, {', '.join(found) or 'none'}; one must")
    return next(iter(found.items()))


def _prepared_encoder(given: dict[str, Any]) -> dict[str, Any]:
    _, keys = _column(given, "keys")
    kind, values = _column(given, "values")
    if len(keys) != len(values):
        raise ValueError(f"values has {len(values)} elements; it must have {len(keys)}, as there are keys")
    default: Any = given.get("default_tensor")
    dtype: Any = np.float32 if kind == "floats" else np.int64
    if kind == "tensor":
        tensor = given["values_tensor"]
        dtype = tensor.dtype
        names = {"f": "floats", "i": "int64s"}
        kind = names.get(tensor.dtype.kind, "strings")
    if default is None:
        default = given.get(f"default_{kind.removesuffix('s')}")
        default = {"strings": "_Unused", "int64s": -1, "floats": -0.0}[kind] if default is None else default
    else:
        default = default.reshape(-1).tolist()[0] if default.size else None
    if isinstance(default, str) != isinstance(values[0], str):
        raise ValueError(f"default_tensor is {default!r}; it must be of the type of the values")
    return {"keys": keys, "values": values, "default": default, "dtype": np.int64 if kind == "strings" else dtype}


@line("LabelEncoder", 2, domain="ai.onnx.ml", prepare=_prepared_encoder, labels=0)
def label_encoder(
    x: Any, keys: Sequence[float], values: Sequence[float], default: float, dtype: Any, labels: Any = None
) -> Any:
    """Return the values of the keys that elements are, and the default for others; of equal keys the first counts."""
    numbers = placed(np.array([*values, default], dtype), x)
    if [*keys] == [*range(len(keys))] and np.dtype(x.dtype).kind == "i":
        known = ops.logical_and(ops.greater_equal(x, 0), ops.less(x, len(keys)))
        return ops.gather(numbers, ops.where(known, ops.cast(x, np.int64), len(keys)))
    each = np.array(keys, x.dtype)
    found = _equal(x, each)
    if (nan := np.flatnonzero(each != each)).size:  # NaN is a key, too
        of_nan = placed(np.arange(len(keys)) == nan[0], x)
        found = ops.logical_or(found, ops.logical_and(ops.is_nan(x.reshape((*x.shape, 1))), of_nan))
    return ops.gather(numbers, _place(found))


def _prepared_map(given: dict[str, Any]) -> dict[str, Any]:
    return {"labels": class_labels(given.get("classlabels_strings"), given.get("classlabels_int64s"))}


@line("ZipMap", 1, domain="ai.onnx.ml", prepare=_prepared_map)
def zip_map(x: Any, labels: Sequence[Any]) -> Any:
    """Return the scores, of which the host makes a list with a dict for each row."""
    x = in_rows(x)
    check(x.shape[1] == len(labels), "X of shape", tuple(x.shape), f"of {len(labels)} columns, as there are labels")
    return ops.identity(x)
