"""Calls of the functions of nodes, and what errors say about them: the node, and the values that it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ep.include.errors import ArgumentError
from ep.onnx.graph import Branch, Node

Shapes = Callable[[str], Any]
"""A function that returns the shape of a value, None if it is not known."""


def called(node: Node, arrays: Sequence[Any], others: Mapping[str, Any]) -> Any:
    """Return the results of a node's function, or the branch that it chooses; errors have a note with the node.

    others: attributes in the place of the node's.
    """
    attributes = {**node.attributes, **others}
    if node.line.counts:
        attributes["count"] = len(node.outputs)
    try:
        results = node.line.function(*arrays, **attributes)
    except Exception as error:
        tell_node(error, node.shown, node.line.indices)
        raise
    if isinstance(results, Branch):
        return results
    several: Sequence[Any] = results if isinstance(results, tuple | list) else (results,)
    if missing := [name for name in node.outputs[len(several) :] if name]:
        raise NotImplementedError(f"{node.shown} has an output that nothing serves: {', '.join(missing)}")
    return several


def tell_node(error: Exception, shown: str, indices: str) -> None:
    """Add a note with the node to its error, and give the input that has indices its name."""
    if isinstance(error, ArgumentError):
        error.rename({"indices": indices})
    error.add_note(f"in {shown}")


def described(read: Sequence[str], made_of: Mapping[str, Sequence[str]], inputs: Sequence[str], shapes: Shapes) -> str:
    """Return a sentence on the values that a node reads: their shapes, and the inputs that they follow from.

    read: their names. made_of: the values that each value is computed from, by name. inputs: the names of the model's.
    """
    found = []
    for name in dict.fromkeys(filter(None, read)):
        sources = [one for one in inputs if one in _all_before(name, made_of)]
        if name in inputs:
            origin = "an input"
        elif sources:
            kind = "input" if len(sources) == 1 else "inputs"
            origin = f"which follows from the {kind} {_listed([_sized(one, shapes) for one in sources])}"
        else:
            origin = "which follows from constants" if made_of.get(name) else "a constant"
        found.append(f"{_sized(name, shapes)}, {origin}")
    return f"it reads {'; '.join(found)}"


def _all_before(name: str, made_of: Mapping[str, Sequence[str]]) -> set[str]:
    """Return the names of a value, and of all that it is computed from."""
    found, todo = set[str](), [name]
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += made_of.get(one, ())
    return found


def _sized(name: str, shapes: Shapes) -> str:
    shape = shapes(name)
    return repr(name) if shape is None else f"{name!r} of shape {tuple(shape)}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
