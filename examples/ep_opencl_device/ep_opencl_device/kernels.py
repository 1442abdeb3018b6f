"""Kernels: the text of the kernel of a structure, and its launch.

A work-item computes one element of each result of a map, or one row: it goes along the row for each reduction, and once
more for results that have elements.
"""

import math
from functools import cache

import numpy as np

from ep import BinaryOp, DataType, UnaryOp
from ep.common.functor.lookup import functor_maker
from ep.common.functor.reduction import reduction_of, states
from ep.common.stored_types import carried_as
from ep.common.structured.kernels import StructureKernels
from ep.common.structured.parts import PARTS, in_parts
from ep.include.number_kind import FLOATS, Kind, number_kind
from ep.include.primitive import ReduceOp
from ep.include.primitive.reduce_op import SUMS
from ep.include.primitive.structure import ChoiceOp, reads_whole_rows
from ep_opencl_device.buffer import constant, reader
from ep_opencl_device.elements import PRELUDE, STORED, arithmetic, computed, converted, loaded
from ep_opencl_device.opencl import kOpenCL
from ep_opencl_device.stream import OpenCLStream
from ep_opencl_device.translate import Program, Value, library, number

_WIDE = BinaryOp.kZeta, BinaryOp.kScalarBasePowerGrad, BinaryOp.kScalarExpPowerGrad
"""The ops whose intermediate results may exceed the range of float32 although the result does not."""
_MOVES = UnaryOp.kIdentity, ChoiceOp.kRow, None
"""The ops that leave elements as they are."""
_OFFSETS = 4  # the words of a launch before these: the elements, the axes, the elements of a row, the axes of a row


class OpenCLKernels(StructureKernels):
    """Kernels of maps, reductions and softmaxes, and of one op that moves elements."""

    device_type, stream_class = kOpenCL, OpenCLStream
    reader = staticmethod(reader)

    def supports(self, structure):
        moves = len(structure.steps) == 1 and structure.steps[0].op in _MOVES
        types = {*structure.sources, *(each.data_type for each in (*structure.constants, *structure.steps))}
        known = STORED.keys() if moves else STORED.keys() - {DataType.kComplex128}
        rows = [step for step in structure.steps if reads_whole_rows(step)]
        chooses = structure.chooses and not moves
        return types <= known and structure.product is None and not chooses and all(map(_is_accurate, rows))

    def constant(self, stream, number):
        return constant(stream.device(), number)

    def compute(self, stream, structure, operands, walk, row_walk, choice):
        dims, *strides = walk
        is_flat = len(dims) == 1 and all(steps in ((0,), (1,)) for steps in strides)
        walks = [walk] if row_walk is None else [walk, row_walk]
        axes = [word for walk in walks for axis in reversed([*zip(*walk, strict=True)]) for word in axis]
        count, length = (math.prod(walk[0]) for walk in (walk, walks[-1]))
        words = [count, len(dims), length, len(walks[-1][0]), *(each.offset for each in operands), *choice, *axes]
        kernel = stream.device().kernel(_source(structure, tuple(strides) if is_flat else None))
        table = constant(stream.device(), np.array(words, np.int64))
        kernel.launch(stream, count, *(each.memory_object() for each in (*operands, table)))


def _is_accurate(step):
    """Return whether an op on rows has a kernel for which float64 is enough: softmaxes magnify errors, and the sum of a
    mean overflows."""
    is_exact = step.data_type is not DataType.kDouble or not (step.op in PARTS or step.op is ReduceOp.kMean)
    return is_exact and step.op in (*ReduceOp, *PARTS)


@cache
def _source(structure, steps):
    """Return the text of a kernel. steps: the strides of its operands if they are 0 or 1 along one axis, else None."""
    return _Text(in_parts(structure), steps).text()


@cache
def _states(op, data_type):
    """Return the functions of a reduction, and the data type in which it carries numbers."""
    carried, kind = carried_as(op, data_type), number_kind(data_type)
    compensated = op in SUMS and data_type is DataType.kDouble
    return states(reduction_of(op, kind), library(arithmetic(carried)), compensated=compensated), carried


class _Text:
    """The text of a kernel while it is written.

    The values of a row's elements are computed in each loop along the row that needs them, all others once.
    """

    def __init__(self, structure, steps):
        self._structure, self._steps = structure, steps
        self._types = [*map(structure.data_type, structure.results), *structure.sources]
        self._num = len(self._types)
        self._axes = _OFFSETS + self._num + 3 * len(structure.chosen)
        self._of_row = [structure.has_rows and not reduced for reduced in structure.are_reduced()]
        self._program, self._lines, self._once, self._in_row = Program(), [], {}, None

    def text(self):
        """Return the whole text."""
        if self._steps is None:
            self._walk("at", ["0"] * self._num, "i", f"w + {self._axes}", "w[1]")
        for value, of_row in enumerate(self._of_row):
            if not of_row and value not in self._structure.chosen:
                self._value(value)
        self._store(of_row=False)
        if any(self._of_row[value] for value in self._structure.results):
            self._along_row(lambda: self._store(of_row=True))
        parameters = ", ".join(f"__global uchar* a{k}" for k in range(self._num))
        head = f"__kernel void compute({parameters}, __constant long* w) {{"
        begin = "long i = get_global_id(0);\nif (i >= w[0]) return;"
        return "\n".join([PRELUDE, *self._program.texts, head, begin, *self._lines, "}"])

    def _walk(self, place, begins, index, axes, num_axes):
        """Write the walk to the place of each operand. axes: those of the walk among the words, the last one first."""
        names = [f"{place}{k}" for k in range(self._num)]
        declared = ", ".join(f"{name} = {begin}" for name, begin in zip(names, begins, strict=True))
        inner = " ".join(f"{name} += n * axis[{k}];" for k, name in enumerate(names, 1))
        loop = f"for (long k = {num_axes}; k > 1; --k, axis += {self._num + 1})"
        self._lines.append(f"long {declared}; {{ __constant long* axis = {axes}; long n, rest = {index};")
        self._lines.append(f"{loop} {{ n = rest % axis[0]; rest /= axis[0]; {inner} }} n = rest; {inner} }}")

    def _begin(self, k):
        """Return the place of an operand in the walk over elements or rows."""
        return f"at{k}" if self._steps is None else "i" if self._steps[k] == (1,) else "0"

    def _along_row(self, write):
        """Write a loop along the row; `write` writes what it does with each element."""
        self._in_row, begins = {}, [self._begin(k) for k in range(self._num)]
        self._lines.append("for (long r = 0; r < w[2]; ++r) {")
        self._walk("in", begins, "r", f"w + {self._axes} + w[1] * {self._num + 1}", "w[3]")
        write()
        self._lines.append("}")
        self._in_row = None

    def _element(self, k, row=""):
        """Return the text of an operand's element in memory."""
        place = self._begin(k) if self._in_row is None else f"in{k}"
        return f"((__global {STORED[self._types[k]]}*)(a{k} + w[{_OFFSETS + k}]))[{place}{row}]"

    def _store(self, of_row):
        for k, value in enumerate(self._structure.results):
            if self._of_row[value] is of_row:
                self._lines.append(f"{self._element(k)} = {converted(*self._value(value), self._types[k])};")

    def _value(self, value):
        """Return a Value of the structure, which is computed here unless it has been."""
        known = self._in_row if self._of_row[value] else self._once
        if value not in known:
            text, kind = self._computed(value)
            self._lines.append(f"const {kind} v{value} = {text};")
            known[value] = Value(f"v{value}", kind)
        return known[value]

    def _computed(self, value):
        """Return the Value of a source, a constant or a step, as an expression."""
        structure, place = self._structure, value - len(self._structure.sources)
        if place < 0:
            return self._loaded(value)
        if place < len(structure.constants):
            data_type, bits = structure.constants[place]
            return number(arithmetic(data_type)(np.frombuffer(bits, data_type.dtype)[0]))
        step = structure.steps[place - len(structure.constants)]
        if step.op is ChoiceOp.kRow:
            return self._chosen_row(*step.operands)
        if isinstance(step.op, ReduceOp):
            result = self._reduction(value, step.op, *step.operands)
        else:
            values = [self._value(operand) for operand in step.operands]
            result = _applied(self._program, step, structure.data_type(step.operands[0]), values)
        if step.data_type.itemsize == 2 and step.data_type in FLOATS and not step.rounded:
            return Value(f"(float)({result.text})", "float")
        return Value(loaded(step.data_type, converted(*result, step.data_type)), computed(step.data_type))

    def _loaded(self, source, row=""):
        data_type, k = self._structure.sources[source], len(self._structure.results) + source
        return Value(loaded(data_type, self._element(k, row)), computed(data_type))

    def _chosen_row(self, source, index):
        index = self._value(index)
        text = index.text if index.type == "long" else f"({index.text} > LONG_MAX ? LONG_MIN : (long){index.text})"
        self._lines.append(f"const long row = row_of({text}, w + {self._axes - 3});")
        element = self._loaded(source, " + row")
        return Value(f"row < 0 ? ({element.type})(0) : {element.text}", element.type)

    def _reduction(self, value, op, operand):
        """Write the loop that reduces the elements of the row; return the Value of the result."""
        functions, carried = _states(op, self._structure.data_type(operand))
        empty = self._program.call(functions.empty)
        state = Value(f"s{value}", empty.type)
        self._lines.append(f"{self._program.name_of(state.type)} {state.text} = {empty.text};")

        def add():
            element = Value(f"({computed(carried)}){self._value(operand).text}", computed(carried))
            self._lines.append(f"{state.text} = {self._program.call(functions.add, state, element).text};")

        self._along_row(add)
        return self._program.call(functions.value, state, Value("w[2]", "long"))


def _applied(program, step, data_type, values):
    """Return the Value of an elementwise op, in the type of its arithmetic, on elements of a type."""
    if step.op is None:
        condition, first, second = values
        return Value(f"({condition.text} != 0 ? {first.text} : {second.text})", first.type)
    if step.op in (UnaryOp.kIdentity, UnaryOp.kCast):
        return values[0]
    kind, scalar_type = number_kind(data_type), arithmetic(data_type)
    if step.op in _WIDE and scalar_type is np.float32:
        scalar_type, values = np.float64, [Value(f"(double){value.text}", "double") for value in values]
    of_attributes = scalar_type if kind is Kind.FLOAT else np.float64
    numbers = [number(of_attributes(attribute)) for attribute in step.attributes]
    return program.call(library(scalar_type).use(functor_maker(step.op, kind)), *values, *numbers)
