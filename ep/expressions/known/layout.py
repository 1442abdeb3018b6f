"""What the compiled methods of lazy arrays and blocks read: their own words, and the records of paths."""

from __future__ import annotations

from typing import Final

# the words of a method: addresses of objects, and numbers
WRITTEN, NONE, ELLIPSIS, LAZY, BLOCK, NDARRAY, FLOAT, INT, TUPLE, NAME = range(10)
NUM_OPERANDS, IS_REFLECTED, IS_IN_PLACE, NUM_WORDS = range(10, 14)

# the items of a record: its words, the path after the operator or view, the value, its position, and for an operator
# the function that takes any number, the Python number among the operands, and its array; objects that the words have
# the addresses of follow
WORDS, AFTER, NODE, POSITION, AGAIN, NUMBER, ARRAY = range(7)

# the words of the record of an operator: its name, which operand is a number (-1: none), and of each of two operands
# the value or the type (0: there is no second one)
RECORD_NAME, NUMBER_PLACE, KEYS = range(3)

# the words of the record of a view: its name, and dtype, bytes, number of dims and dims of the array
_, VIEWED_DTYPE, NUM_BYTES, NUM_VIEWED_DIMS, VIEWED_DIMS = range(5)

# the items of a value, `ep.expressions.trace.Node`
SHAPE_OF_NODE, TYPE_OF_NODE = 5, 6

MOST_VIEWS: Final = 64
"""The most views of a block that compiled code makes."""
