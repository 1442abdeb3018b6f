"""The backend of `torch.compile`: graphs of AOTAutograd, with ATen's core operators, as callables, and what they do."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import torch
from functorch.compile import min_cut_rematerialization_partition
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.config import patch
from torch.fx import GraphModule

from ep.common.arrays.on_device import as_device_type
from ep.common.checks import as_truth
from ep.common.plans.stored_plan import Origin
from ep.common.plans.stored_plans import StoredPlans
from ep.include.shown import Lines, shown
from ep.torch.compiled_graph import CompiledGraph
from ep.torch.operators.resizes import resizes_in_graphs
from ep.torch.section import Options, Target
from ep.torch.table import OPERATORS, aten

TRIED: Final = ("2.13", "2.15")
"""The versions of PyTorch that all of tests/torch passed with. AOTAutograd promises nothing about others."""

if ".".join(torch.__version__.split(".")[:2]) not in TRIED:
    warnings.warn(
        f"ep.torch was tried with PyTorch {' and '.join(TRIED)}, and this is {torch.__version__}: compare results with "
        "those of eager once",
        stacklevel=2,
    )


def _power(x: torch.Tensor, exponent: Any) -> Any:
    """Return a power of bool by bool, which is bool: PyTorch's traced tensors have int64."""
    if x.dtype is not torch.bool or not isinstance(exponent, bool):
        return NotImplemented
    return x | (not exponent)


def _sum_of_products(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, **factors: Any) -> torch.Tensor:
    """Return addbmm as one product."""
    return torch.addmm(x, y.transpose(0, 1).flatten(1), z.flatten(0, 1), **factors)


def _above(x: torch.Tensor, bound: float) -> torch.Tensor:
    """Return where elements are above a bound, or no numbers. PyTorch does not round it to 16 bits."""
    return ~((x.float() if x.itemsize == 2 and bound else x) <= bound)


def _shrink_backward(dy: torch.Tensor, x: torch.Tensor, bound: float) -> torch.Tensor:
    """Return a gradient where a tensor is outside a range around 0."""
    return torch.where(_above(x.abs(), bound), dy, 0)


def _threshold_backward(dy: torch.Tensor, x: torch.Tensor, bound: float) -> torch.Tensor:
    """Return a gradient where a tensor is above a bound."""
    return torch.where(_above(x, bound), dy, 0)


def _replication_backward(dy: torch.Tensor, x: torch.Tensor, pads: Sequence[int]) -> torch.Tensor:
    """Return the gradient of a padding with the elements at the ends."""
    for axis, before in zip((-1, -2, -3), pads[::2], strict=False):
        size, padded = x.shape[axis], dy.shape[axis]
        index = torch.arange(-before, padded - before, device=dy.device).clamp(0, size - 1)
        shape = [*dy.shape]
        shape[axis] = size
        dy = dy.new_zeros(shape).index_add(axis, index, dy)
    return dy


def _trilinear(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, *lacking: Any, **_: Any) -> torch.Tensor:
    """Return the sum of products of three tensors, as products of matrices. lacking: the axes that x, y, z and the
    result lack."""
    axes = "abcdefghijk"[: x.dim() + len(lacking[0])]
    terms = ["".join(axis for k, axis in enumerate(axes) if k not in some) for some in lacking[:4]]
    return torch.einsum(f"{terms[0]},{terms[1]},{terms[2]}->{terms[3]}", x, y, z)


@cache
def decompositions() -> dict[Any, Any]:
    """Return the functions that replace operators by others: those of ATen's core, less what the table has."""
    found = dict(core_aten_decompositions())
    more = (
        "native_group_norm_backward native_batch_norm_backward _native_batch_norm_legit "
        "_native_batch_norm_legit_functional _native_batch_norm_legit_no_training elu hardtanh "
        "rrelu_with_noise_backward nll_loss_forward nll_loss_backward nll_loss2d_forward nll_loss2d_backward "
        "mse_loss_backward reflection_pad1d reflection_pad2d replication_pad2d std_mean linalg_vector_norm addmm addmv "
        "dist ldexp narrow_copy unbind_copy tril_indices triu_indices"
    )
    found.update(get_decompositions([getattr(aten, name) for name in more.split()]))
    for target in [*found]:
        if target in OPERATORS or torch.Tag.nondeterministic_seeded in getattr(target, "tags", ()):
            del found[target]
    return found | {
        aten.addbmm.default: _sum_of_products,
        aten.pow.Tensor_Scalar: _power,
        # PyTorch traces these gradients with sizes that vary only as others
        aten.hardshrink_backward.default: _shrink_backward,
        aten.softshrink_backward.default: _shrink_backward,
        aten.threshold_backward.default: _threshold_backward,
        aten._trilinear.default: _trilinear,
        **{getattr(aten, f"replication_pad{k}d_backward").default: _replication_backward for k in (1, 2, 3)},
        torch.ops.prims.convert_element_type.default: torch.Tensor.to,
    }


def backend(
    module: GraphModule, example_inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """Compile a graph of torch.compile: `torch.compile(model, backend="ep")`.

    options: a mapping with the names of `Options`. Raises TypeError for other names, and for values of other types.
    """
    chosen = as_options(options)
    return compiled(module, example_inputs, compiler(chosen), has_all=chosen.needs_all)


def as_options(given: Mapping[str, Any] | None) -> Options:
    """Return options that are given by name: devices as a DeviceType or its tag, the others as True or False.

    Raises TypeError for an unknown name, and for values of other types; ValueError for an unknown device.
    """
    found, known = dict(given or {}), Options._fields
    if unknown := [name for name in found if name not in known]:
        raise TypeError(f"options has {shown(unknown[0])}; backend ep knows {', '.join(known)}")
    for name, value in found.items():
        if name not in ("device", "otherwise"):
            found[name] = as_truth(value, f"options: {name}")
        elif value is not None or name == "device":
            found[name] = as_device_type(value, f"options: {name}")
    return Options(**found)


def compiler(options: Options) -> Callable[[GraphModule], CompiledGraph]:
    """Return the function that compiles the graphs of a program."""
    target, graphs = Target(options, [], StoredPlans(Origin(""), "torch", options.device)), list[CompiledGraph]()
    return lambda graph: CompiledGraph(graph, target, graphs)


def compiled(
    module: GraphModule,
    example_inputs: Sequence[Any],
    compile_graph: Callable[[GraphModule], Callable[..., Any]],
    *,
    has_all: bool = False,
) -> Callable[..., Any]:
    """Compile a graph. compile_graph: compiles each one that AOTAutograd makes of it: forward, backward. has_all:
    whether both are compiled at once; otherwise the first backward call compiles its graph."""
    each = dict.fromkeys(("fw_compiler", "bw_compiler"), lambda graph, _: compile_graph(graph))
    make = aot_autograd(
        **each,
        decompositions=decompositions(),
        partition_fn=min_cut_rematerialization_partition,  # the backward graph computes again what is cheap
    )
    # equal nodes are one in a trace; PyTorch would import inductor for it
    with resizes_in_graphs(), patch(cse=False, force_non_lazy_backward_lowering=has_all):
        found: Callable[..., Any] = make(module, example_inputs)
    return found


def explain(model: Callable[..., Any], /, *args: Any, options: Mapping[str, Any] | None = None, **kwargs: Any) -> str:
    """Return a text on how a model is computed: for each graph that PyTorch makes of it, the kernels and their bytes,
    the memory of intermediate values, and the steps that PyTorch computes, with reasons.

    model: what `torch.compile` takes. args, kwargs: of a call of the model, which is done once: it changes what every
    call changes, such as the statistics of a batch norm. If a result requires a gradient, the backward graphs are in
    the text, too. options: as of `torch.compile`.

    Raises the errors of the model, and of options: see `Options`.
    """
    graphs, chosen = list[CompiledGraph](), as_options(options)
    compile_graph = compiler(chosen)

    def noted(graph: GraphModule) -> CompiledGraph:
        graphs.append(compile_graph(graph))
        return graphs[-1]

    torch.compile(model, backend=lambda graph, given: compiled(graph, given, noted, has_all=True))(*args, **kwargs)
    lines = [f"graphs: {len(graphs)}, on {chosen.device.tag}"]
    for k, graph in enumerate(graphs):
        plan = graph.any_plan()
        lines += [f"\ngraph {k + 1}:", *(line for section in plan.sections for line in section.explain())]
        for (operator, reason), count in Counter((node.target, why) for node, why in plan.eager.items()).items():
            times = f", {count} times" if count > 1 else ""
            lines.append(f"PyTorch computes {operator}{times}: {reason}")
    return Lines("\n".join(lines))
