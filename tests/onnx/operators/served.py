"""The versions of the operators that are served, and the dtypes of each of their types, from ONNX's schemas."""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from ep.include.data_type import DataType
from ep.onnx.table import OPERATORS

OLDEST = 7
NEWEST = onnx.defs.onnx_opset_version()
DTYPES = {one.dtype for one in DataType}


@functools.cache
def _all_schemas() -> dict[str, list[Any]]:
    """Return all versions of ONNX's operators, by name."""
    found: dict[str, list[Any]] = {}
    for one in onnx.defs.get_all_schemas_with_history():
        if not one.domain:
            found.setdefault(one.name, []).append(one)
    return found


@functools.cache
def schemas(name: str) -> dict[int, Any]:
    """Return the served versions of an operator, by the opset that each begins with."""
    found = sorted((one.since_version, one) for one in _all_schemas().get(name, ()) if not one.deprecated)
    last = {since: (following[0] if following else NEWEST + 1) for since, following in _with_next(found)}
    least = max(OLDEST, min((line.since for line in OPERATORS.get(name, ())), default=OLDEST))
    return {
        since: one
        for since, one in found
        if last[since] > least and (name in OPERATORS or one.has_function or one.has_context_dependent_function)
    }


def opsets(name: str, since: int) -> range:
    """Return the served opsets that a version of an operator belongs to."""
    later = [one for one in all_versions(name) if one > since]
    least = max(OLDEST, since, min((line.since for line in OPERATORS.get(name, ())), default=OLDEST))
    return range(least, min(later, default=NEWEST + 1))


@functools.cache
def all_versions(name: str) -> list[int]:
    """Return the first opsets of all versions of an operator."""
    return sorted(one.since_version for one in _all_schemas().get(name, ()))


def names() -> list[str]:
    """Return the names of the operators of the table, and of those that ONNX's functions serve."""
    functions = {
        name
        for name, versions in _all_schemas().items()
        if any(one.has_function or one.has_context_dependent_function for one in versions)
    }
    served = {name for name, lines in OPERATORS.items() if not all(line.domain for line in lines)}
    return sorted(served | functions)


def types(schema: Any) -> dict[str, list[np.dtype[Any]]]:
    """Return the dtypes of each type parameter of a version, without those that are no DataType."""
    found = {one.type_param_str: dtypes(one.allowed_type_strs) for one in schema.type_constraints}
    for one in (*schema.inputs, *schema.outputs):
        found.setdefault(one.type_str, dtypes([one.type_str]))
    return found


def dtypes(strings: Any) -> list[np.dtype[Any]]:
    """Return the dtypes of types such as "tensor(float)"."""
    found = []
    for one in strings:
        inner = re.fullmatch(r"tensor\((\w+)\)", one)
        if inner and inner[1] != "string":
            dtype = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(inner[1].upper()))
            found += [dtype] if dtype in DTYPES else []
    return sorted(found, key=str)


def cases(records: dict[str, Any]) -> Iterator[tuple[str, int, str]]:
    """Yield the operators of some records, with each version and each dtype of its first input."""
    for name, record in records.items():
        for since, schema in schemas(name).items():
            known = types(schema)
            first = (schema.inputs or schema.outputs)[0].type_str
            for dtype in known[first]:
                if not record.types or dtype.name in record.types:
                    yield name, since, dtype.name


def some_cases(records: dict[str, Any], turn: str) -> Iterator[tuple[str, int, str]]:
    """Yield the cases of the newest version of each operator, and of older ones those of two dtypes.

    Older versions have all dtypes that the newest one lacks. turn: a name that the choice of the two follows from.
    """
    for name, record in records.items():
        found: dict[int, list[str]] = {}
        for _, since, dtype in cases({name: record}):
            found.setdefault(since, []).append(dtype)
        newest = max(found)
        for since, names in found.items():
            only = [dtype for dtype in names if dtype not in found[newest]]
            others = [dtype for dtype in names if dtype not in only]
            drawn = random.Random(f"{turn} {name} {since}").sample(others, min(2, len(others)))
            for dtype in names if since == newest else sorted(only + drawn):
                yield name, since, dtype


def _with_next(found: list[tuple[int, Any]]) -> Iterator[tuple[int, tuple[int, ...]]]:
    versions = [since for since, _ in found]
    return ((since, tuple(versions[k + 1 : k + 2])) for k, since in enumerate(versions))
