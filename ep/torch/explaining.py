"""What becomes of a model: its kernels, the steps that PyTorch computes, and the memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch._functorch.config import patch

from ep.include.shown import Lines
from ep.torch.aot import compiled
from ep.torch.compiled_graph import CompiledGraph
from ep.torch.options import as_options


def explain(model: Callable[..., Any], /, *args: Any, options: Mapping[str, Any] | None = None, **kwargs: Any) -> str:
    """Return a text on how a model is computed: for each graph that PyTorch makes of it, the kernels and their bytes,
    the memory of intermediate values, and the steps that PyTorch computes, with reasons.

    model: what `torch.compile` takes. args, kwargs: of a call of the model, which is done once: it changes what every
    call changes, such as the statistics of a batch norm. If a result requires a gradient, the backward graphs are in
    the text, too. options: as of `torch.compile`.

    Raises the errors of the model, and of options: see `Options`.
    """
    graphs: list[CompiledGraph] = []
    chosen = as_options(options)

    def note(module: Any, example_inputs: Sequence[Any]) -> Any:
        return compiled(module, example_inputs, chosen, graphs.append)

    with patch(force_non_lazy_backward_lowering=True):  # else the first backward call compiles its graph
        torch.compile(model, backend=note)(*args, **kwargs)
    lines = [f"graphs: {len(graphs)}, on {chosen.device.tag}"]
    for k, graph in enumerate(graphs):
        plan = graph.any_plan()
        lines += [f"\ngraph {k + 1}:", *(line for section in plan.sections for line in section.explain())]
        for (operator, reason), count in Counter((node.target, why) for node, why in plan.eager.items()).items():
            times = f", {count} times" if count > 1 else ""
            lines.append(f"PyTorch computes {operator}{times}: {reason}")
    return Lines("\n".join(lines))
