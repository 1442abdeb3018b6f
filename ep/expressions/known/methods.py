"""What blocks know: records of operators and views, and the compiled methods that read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ep.common.arrays.operators import FORMS, Form, Operators
from ep.common.native.object_layout import data_address
from ep.common.native.python_function import doc_of_method, method_with
from ep.expressions.known import layout
from ep.expressions.path import Path
from ep.include.arrays import Arrays
from ep.include.process import exclusively

_ASSIGNMENT: Final = Form("an assignment", 3)
_VIEW: Final = Form("a view", 2)


class Known:
    """The methods of lazy arrays and blocks that become compiled code, when a block first repeats an operator."""

    def __init__(self) -> None:
        self.lazy: Any = None
        """The class of lazy arrays."""
        self.block: Any = None
        """The class of blocks."""
        self._asked: set[str] = set()  # the places of the Arrays that have been asked to compile
        self._held: list[Any] = []  # what compiled methods have the addresses of

    def add_operator(self, before: Path, name: str, operands: Sequence[Any], again: Any, result: Any) -> None:
        """Let compiled methods record an operator that was recorded at a path.

        before: the path. name: of the operator, the object that its `Form` has. again: the function (operands, None)
        that records it with any number. result: what it has returned for the operands.
        """
        trace = result.trace
        if not self._held:
            if trace.base.place not in self._asked and isinstance(trace.base, Arrays):
                exclusively(lambda: self._compile(trace.base))
            if not self._held:
                return
        place, position, number, array = -1, None, None, None
        keys, nodes = [0, 0], []
        for k, one in enumerate(operands):
            if type(one) is self.lazy:
                nodes.append(one.node)
                keys[k] = id(one.node)
            else:
                place, number, keys[k] = k, one, id(type(one))
                position = trace.path.inputs_since(before)[0].position
                array = trace.given[position]
        words = np.array([id(name), place, *keys], np.int64)
        before.add((words, trace.path, result.node, position, again, number, array, name, *nodes))

    def add_view(self, before: Path, array: np.ndarray[Any, Any], made: Any) -> None:
        """Let compiled methods make a view of an array like this one, after a path; made: the view."""
        if self._held and array.nbytes:
            dtype = array.dtype
            words = np.array([id(_VIEW.name), id(dtype), array.nbytes, array.ndim, *array.shape], np.int64)
            before.add((words, made.trace.path, made.node, made.view, None, None, None, dtype))

    def new_ranges(self) -> Any:
        """Return the ranges of a block's views in memory, for compiled methods; None if there are no such methods."""
        return np.zeros(1 + 2 * layout.MOST_VIEWS, np.int64) if self._held else None

    def _compile(self, base: Arrays) -> None:
        from ep.expressions.known.operator_code import assign, operate  # this imports compiled code
        from ep.expressions.known.view_code import view

        self._asked.add(base.place)
        methods = {"operate": operate, "assign": assign, "view": view}
        addresses: Any = [base.compiled_for_host(f"lazy.{name}", one, 4) for name, one in methods.items()]
        if None in addresses or self._held:  # another thread may have replaced the methods
            return
        operating, assigning, viewing = addresses
        for name, written in vars(Operators).items():
            if callable(written) and written in FORMS and getattr(self.lazy, name) is written:
                self._replace(self.lazy, name, FORMS[written], operating)
        self._replace(self.lazy, "__setitem__", _ASSIGNMENT, assigning)
        self._replace(self.block, "view", _VIEW, viewing)

    def _replace(self, of: type[Any], name: str, form: Form, address: int) -> None:
        """Replace a method by a compiled one, which calls it for all that is not known."""
        written: Callable[..., Any] = getattr(of, name)
        words = np.zeros(layout.NUM_WORDS, np.int64)
        of_objects = {
            layout.WRITTEN: written,
            layout.NONE: None,
            layout.ELLIPSIS: ...,
            layout.LAZY: self.lazy,
            layout.BLOCK: self.block,
            layout.NDARRAY: np.ndarray,
            layout.FLOAT: float,
            layout.INT: int,
            layout.TUPLE: tuple,
            layout.NAME: form.name,
        }
        for word, one in of_objects.items():
            words[word] = id(one)
        words[layout.NUM_OPERANDS], words[layout.IS_REFLECTED] = form.num_operands, form.is_reflected
        words[layout.IS_IN_PLACE] = form.is_in_place
        self._held.append((written, form, words))
        setattr(of, name, method_with(name, address, words, doc_of_method(name, written)))


def note_range(ranges: Any, array: np.ndarray[Any, Any] | None) -> None:
    """Add the memory of a view to the ranges of a block; None: it is unknown, so compiled code makes no more views."""
    number = int(ranges[0])
    if array is None or not 0 <= number < layout.MOST_VIEWS:
        ranges[0] = -1
        return
    begin = data_address(array) if array.nbytes else 0
    ranges[1 + 2 * number : 3 + 2 * number] = begin, begin + array.nbytes
    ranges[0] = number + 1


KNOWN: Final = Known()
