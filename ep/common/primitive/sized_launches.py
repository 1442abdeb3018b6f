"""The Launch of primitives that do nothing but hand their arguments over: the same one on all devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ep.include.stream import Stream


class SizedLaunch:
    """A base class of primitives whose Launch hands its sizes and buffers over in the order of the signature."""

    Launch: Any

    def _launch_sized(self, stream: Any, sizes: tuple[Any, ...], buffers: tuple[Any, ...]) -> None:
        """Check and do a launch. sizes: sizes and other integers of the signature, or dims and strides, as given."""
        raise NotImplementedError


class StridedLaunch(SizedLaunch):
    """The Launch of Expand and BroadcastElementwiseUnary."""

    def Launch(
        self,
        stream: Stream,
        src_dims: Sequence[int],
        src: Any,
        dst_dims: Sequence[int],
        dst: Any,
        src_strides: Sequence[int] | None = None,
        dst_strides: Sequence[int] | None = None,
    ) -> None:
        self._launch_sized(stream, (src_dims, dst_dims, src_strides, dst_strides), (src, dst))


class GatherLaunch(SizedLaunch):
    """The Launch of Gather, a BatchGather of one batch."""

    def Launch(
        self,
        stream: Stream,
        outer_dim_size: int,
        gather_dim_size: int,
        inner_dim_size: int,
        params: Any,
        num_indices: int,
        indices: Any,
        out: Any,
        offset: int = 0,
    ) -> None:
        sizes = 1, outer_dim_size, gather_dim_size, inner_dim_size, num_indices, offset
        self._launch_sized(stream, sizes, (params, indices, out))


class BatchGatherLaunch(SizedLaunch):
    """The Launch of BatchGather."""

    def Launch(
        self,
        stream: Stream,
        batch_dim_size: int,
        outer_dim_size: int,
        gather_dim_size: int,
        inner_dim_size: int,
        params: Any,
        num_indices: int,
        indices: Any,
        out: Any,
        offset: int = 0,
    ) -> None:
        sizes = batch_dim_size, outer_dim_size, gather_dim_size, inner_dim_size, num_indices, offset
        self._launch_sized(stream, sizes, (params, indices, out))


class SegmentSumLaunch(SizedLaunch):
    """The Launch of UnsortedSegmentSum, a BatchUnsortedSegmentSum of one batch."""

    def Launch(
        self,
        stream: Stream,
        outer_dim_size: int,
        num_segments: int,
        inner_dim_size: int,
        data: Any,
        num_ids: int,
        segment_ids: Any,
        out: Any,
        offset: int = 0,
    ) -> None:
        sizes = 1, outer_dim_size, num_segments, inner_dim_size, num_ids, offset
        self._launch_sized(stream, sizes, (data, segment_ids, out))


class BatchSegmentSumLaunch(SizedLaunch):
    """The Launch of BatchUnsortedSegmentSum."""

    def Launch(
        self,
        stream: Stream,
        batch_dim_size: int,
        outer_dim_size: int,
        num_segments: int,
        inner_dim_size: int,
        data: Any,
        num_ids: int,
        segment_ids: Any,
        out: Any,
        offset: int = 0,
    ) -> None:
        sizes = batch_dim_size, outer_dim_size, num_segments, inner_dim_size, num_ids, offset
        self._launch_sized(stream, sizes, (data, segment_ids, out))


class BatchScatterLaunch(SizedLaunch):
    """The Launch of BatchScatter."""

    def Launch(
        self,
        stream: Stream,
        batch_dim_size: int,
        outer_dim_size: int,
        scatter_dim_size: int,
        inner_dim_size: int,
        updates: Any,
        num_indices: int,
        indices: Any,
        out: Any,
        offset: int = 0,
    ) -> None:
        sizes = batch_dim_size, outer_dim_size, scatter_dim_size, inner_dim_size, num_indices, offset
        self._launch_sized(stream, sizes, (updates, indices, out))


class SoftmaxLaunch(SizedLaunch):
    """The Launch of Softmax and LogSoftmax."""

    def Launch(self, stream: Stream, rows: int, cols: int, x: Any, y: Any) -> None:
        self._launch_sized(stream, (rows, cols), (x, y))


class SoftmaxBackwardLaunch(SizedLaunch):
    """The Launch of SoftmaxBackward and LogSoftmaxBackward."""

    def Launch(self, stream: Stream, rows: int, cols: int, y: Any, dy: Any, dx: Any) -> None:
        self._launch_sized(stream, (rows, cols), (y, dy, dx))


class TreeEnsembleLaunch(SizedLaunch):
    """The Launch of TreeEnsemble."""

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
        sizes = num_rows, num_features, num_targets, num_words, num_trees
        self._launch_sized(stream, sizes, (x, nodes, roots, out))
