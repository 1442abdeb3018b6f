"""tree_ensemble: the weights of the leaves that each row of an array reaches in several trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ep.common.checks import as_size
from ep.common.primitive.broadcast import Dims
from ep.include.arrays import RESULT, Placeholder
from ep.include.data_type import DataType, as_data_type
from ep.include.errors import ArgumentTypeError
from ep.include.primitive.tree_aggregate import TreeAggregate
from ep.include.primitive.tree_ensemble import TreeEnsembleFactory
from ep.include.shown import shown
from ep.ops.declare.function import Indices, Tensor, operator
from ep.ops.declare.operator import Attributes
from ep.ops.declare.type_rules import SameAs
from ep.ops.kernels import Calls, Launch, Plan, attribute, data_type, launching, primitive_exists
from ep.ops.sbp_signatures import B, P, signature
from ep.sbp import Problem, SbpSignature, Split

_AGGREGATES: Final = dict(zip(("sum", "min", "max"), TreeAggregate, strict=True))


def _shape(shapes: Sequence[Dims], attributes: Attributes) -> list[Dims]:
    return [(shapes[0][0], attributes["num_targets"])]


def _signatures(problem: Problem) -> Iterator[SbpSignature]:
    yield signature(Split(0), B, B, Split(0))
    if problem.attributes["aggregate"] == "sum":
        yield signature(B, B, Split(0), P)


@operator(shape=_shape, dtype=SameAs("x"), signatures=_signatures)
def tree_ensemble(
    x: Tensor, nodes: Indices, roots: Indices, num_targets: int = 1, aggregate: str = "sum"
) -> Attributes:
    """Return, for each row of x and each target, the weights of the leaves that the row reaches, joined.

    x: array of shape `(rows, features)`, of float32 or float64.
    nodes: int32 array of one axis, the words of all nodes, which the contract of TreeEnsemble describes;
        `ep.common.primitive.tree_nodes.packed` makes them. Others give results without a meaning.
    roots: int32 array of one axis, the place of the root of each tree among the words.
    num_targets: the number of targets, for which the nodes were made.
    aggregate: "sum" adds weights in the order of the trees, in the dtype of x; "min" and "max" take one of them. A
        target without a weight is 0.
    out: where to put the result, an array of its shape and dtype.

    The result has the shape `(rows, num_targets)`. Raises TypeError for other dtypes, ValueError for other shapes.
    """
    if not isinstance(aggregate, str) or aggregate not in _AGGREGATES:
        raise ValueError(f"aggregate is {shown(aggregate)}; it must be one of {', '.join(_AGGREGATES)}")
    floats, words = (DataType.kFloat, DataType.kDouble), (DataType.kInt32,)
    for name, array, rank, types in (("x", x, 2, floats), ("nodes", nodes, 1, words), ("roots", roots, 1, words)):
        if as_data_type(array.dtype) not in types:
            listed = " or ".join(str(one.dtype) for one in types)
            raise ArgumentTypeError(name, f"has dtype {array.dtype}; it must be {listed}")
        if len(array.shape) != rank:
            raise ValueError(f"{name} has shape {tuple(array.shape)}; it must have {rank} axes")
    if x.shape[1] == 0 and roots.shape[0]:
        raise ValueError(f"x has shape {tuple(x.shape)}; it must have features, which the nodes of trees read")
    return {"num_targets": as_size(num_targets, "num_targets"), "aggregate": aggregate}


def _kernel(calls: Calls, ensemble: Any) -> Plan:
    """Return one launch of TreeEnsemble."""
    (rows, features), (words,), (trees,) = calls.shapes
    sizes = rows, features, calls.attributes["num_targets"], words, trees
    return Plan(Launch(ensemble, *sizes, *map(Placeholder, range(3)), RESULT))


for _name, _op in _AGGREGATES.items():
    launching(
        "tree_ensemble",
        primitive_exists(TreeEnsembleFactory, _op, data_type("x")),
        when=attribute("aggregate") == _name,
        name=f"TreeEnsemble{_op.name.removeprefix('k')}Kernel",
    )(_kernel)
