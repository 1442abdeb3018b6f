"""TreeEnsemble: for each row, the weights of the leaf that it reaches in each of several trees."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from ep.include.data_type import DTypeLike
from ep.include.primitive.primitive import Factory, Primitive, Request, data_types, enumerator
from ep.include.primitive.tree_aggregate import TreeAggregate
from ep.include.stream import Stream


class TreeEnsemble(Primitive):
    """`out[r, t]` joins the weights for target t of the leaves that row r of x reaches; upstream has none.

    The trees are in an array of 32-bit words. A node has a threshold, in the one or two words of data_type, the number
    of a feature, and three offsets: of the node that follows where the feature is above the threshold, where it is not,
    and where it is NaN, counted from this node, in words. With a threshold that is NaN, all numbers are above.

    The three offsets of a leaf are 0. With one target, its threshold is its weight. Otherwise the number of its
    weights follows it, then each weight and its target. With float64, this number and each target are followed by a
    word that is not read, so that all float64 numbers are aligned.
    """

    @abstractmethod
    def Launch(
        self,
        stream: Stream,
        num_rows: int,
        num_features: int,
        num_targets: int,
        num_words: int,
        num_trees: int,
        x: Any,
        nodes: Any,
        roots: Any,
        out: Any,
    ) -> None:
        """Compute on `stream`.

        x: buffer of `[num_rows, num_features]` elements of data_type.
        nodes: buffer of `[num_words]` int32 words, as `ep.common.primitive.tree_nodes` makes them. Their offsets
            must lead to leaves, and features and targets must be below their numbers; with others, the launch reads
            and writes nothing but its buffers, and the results have no meaning.
        roots: buffer of `[num_trees]` int32 numbers: the first word of the root of each tree.
        out: buffer of `[num_rows, num_targets]` elements of data_type, which overlaps no other. A target without a
            weight is 0. The weights of kSum are added in the order of the trees, in data_type.

        Raises TypeError or ValueError, naming the argument, before anything is written.
        """
        self._launch_with(stream, (num_rows, num_features, num_targets, num_words, num_trees), (x, nodes, roots, out))


class TreeEnsembleFactory(Factory[TreeEnsemble]):
    """The factory of TreeEnsemble for an aggregate and a type."""

    primitive = TreeEnsemble

    def New(self, op: TreeAggregate, data_type: DTypeLike) -> TreeEnsemble | None:
        """Return a TreeEnsemble of `data_type`, or None if the device has none; see `NewPrimitive`."""
        enumerator(op, TreeAggregate, "op")
        return self.Select(Request(TreeEnsemble, op, data_types(data_type=data_type)))
