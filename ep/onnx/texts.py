"""Values that are no arrays of numbers: strings, which are places in a list of labels, and the maps of ZipMap.

Kernels compute with the places. The host makes strings or dicts of those that are outputs of a model when a run ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from onnx import TensorProto

from ep.onnx.labels import Labels

_MOVES: Final = {
    "ArrayFeatureExtractor", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Squeeze", "Transpose",
    "Unsqueeze",
}  # fmt: skip
"""The operators that only move the elements of their first input."""


def places_of(strings: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], Labels]:
    """Return an array of strings as places in a list."""
    each = [one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in strings.reshape(-1)]
    labels = {one: k for k, one in enumerate(dict.fromkeys(each))}
    found = np.array([labels[one] for one in each], np.int64).reshape(strings.shape)
    return found, Labels(tuple(labels) or ("",))


def with_texts(node: Any, texts: dict[str, Labels], identity: Any) -> Any:
    """Return a `Node` that computes with places, and add its outputs that are strings or maps.

    texts: what values stand for, by name. identity: the line of Identity. Raises NotImplementedError for an operator
    that does not compute with strings or maps.
    """
    line, given, read = node.line, node.attributes, [texts.get(name) for name in node.inputs]
    labels = given.get("labels")
    if line.name == "LabelEncoder":
        node = _encoded(node, read[0])
        labels = node.attributes["labels"]
    elif line.name == "Cast" and (read[0] is not None or given.get("to") == TensorProto.STRING):
        if read[0] is None or read[0].is_map or given.get("to") != TensorProto.STRING:
            raise NotImplementedError(
                "type STRING is not a DataType: no numbers are made of strings, nor strings of numbers"
            )
        texts[node.outputs[0]] = read[0]
        return node._replace(line=identity, inputs=node.inputs[:1], attributes={})
    elif any(read):
        first = read[0]
        if first is None or any(read[1:]) or line.name not in _MOVES or (first.is_map and line is not identity):
            raise NotImplementedError("it does not compute with strings or maps")
        texts.update((name, first) for name in node.outputs if name)
    if labels is not None and line.name == "ZipMap":
        texts[node.outputs[0]] = Labels(tuple(labels), is_map=True)
    elif labels is not None and 0 <= line.labels < len(node.outputs) and isinstance(labels[0], str):
        texts[node.outputs[line.labels]] = Labels(tuple(labels))
    return node


def _encoded(node: Any, read: Labels | None) -> Any:
    """Return a LabelEncoder whose keys and values are numbers: for strings, their places.

    read: what its input stands for, if it is of strings. labels: of its values, if these are strings, or None.
    """
    given = dict(node.attributes)
    keys, values, default = given["keys"], [*given["values"]], given["default"]
    if isinstance(keys[0] if len(keys) else "", str) != (read is not None):
        raise NotImplementedError("its keys must be strings if its input is, and only then")
    if read is not None:
        known: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            known.setdefault(key, value)
        keys = [*range(len(read.labels))]
        values = [known.get(one, default) for one in read.labels]
    labels: Sequence[str] | None = None
    if isinstance(default, str):
        labels = [*dict.fromkeys([*values, default])]
        values, default = [labels.index(one) for one in values], labels.index(default)
    return node._replace(attributes={**given, "keys": keys, "values": values, "default": default, "labels": labels})
