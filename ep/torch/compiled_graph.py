"""A graph of PyTorch as a callable: for inputs of certain sizes, another graph, of sections and steps of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.graph import _BoxedCodeGen
from torch.fx.node import map_arg

from ep.common.bounded_cache import BoundedCache
from ep.garbage import garbage_waits
from ep.include.device_type import DeviceType
from ep.include.errors import UnsupportedPrimitiveError
from ep.torch.division import divided, is_random
from ep.torch.section import RefusedError, Section, Target
from ep.torch.sizes import Sizes


class SpecializedModule(NamedTuple):
    """A graph for inputs of certain sizes.

    run: returns the results for a list of inputs, which it empties, so that none lives longer than needed. sections:
    the parts that `ep` computes. eager: the nodes that PyTorch computes, and why.
    """

    run: Callable[[list[Any]], list[Any]]
    sections: Sequence[Section]
    eager: Mapping[Node, str]

    @property
    def holds(self) -> Mapping[Any, int]:
        """As for `BoundedCache`."""
        return {key: size for section in self.sections for key, size in section.holds.items()}


class CompiledGraph:
    """A graph of AOTAutograd on a device: a plan for each combination of input sizes. Several threads may call it."""

    def __init__(self, module: GraphModule, target: Target) -> None:
        module.graph.eliminate_dead_code()
        self._boxed_call = True  # says to AOTAutograd that the inputs come in a list, which a call empties
        self._module, self._target = module, target
        self._sizes = Sizes(module.graph)
        self._refused: dict[str, Exception] = {}
        self._plans = BoundedCache(attrgetter("holds"))

    def __call__(self, args: list[Any]) -> list[Any]:
        """Return the results. Raises NotImplementedError for steps that PyTorch would compute, where those are errors,
        and UnsupportedPrimitiveError, which lists all that the device lacks."""
        key = self._sizes.key(args) if self._sizes.vary else ()
        plan = self._plans.get(key) or self._plans.keep(key, lambda: self.plan(args))
        return plan.run(args)

    def any_plan(self) -> SpecializedModule:
        """Return a plan that there is; if there is none yet, one for the sizes that PyTorch traced the graph with."""
        for plan in (*self._plans.values(), *self._plans.older.values()):
            return plan  # type: ignore[no-any-return]
        said = [node.meta.get("val") for node in self._sizes.placeholders]
        return self.plan([one.node.hint if isinstance(one, torch.SymFloat) else one for one in said])

    def plan(self, args: Sequence[Any]) -> SpecializedModule:
        """Return a new plan for inputs of some sizes."""
        with garbage_waits():
            plan, graph = None, self._sizes.graph(args)
            while plan is None:  # as long as sections have nodes that are refused
                try:
                    plan = self._planned(graph)
                except RefusedError as error:
                    self._refused.update(error.reasons)
        options, device = self._target.options, self._target.options.device
        lacking = [str(one) for one in self._refused.values() if isinstance(one, UnsupportedPrimitiveError)]
        if lacking and device is not DeviceType.kCPU:
            listed = "\n  ".join(dict.fromkeys(lacking))
            raise UnsupportedPrimitiveError(f"{device.tag} lacks kernels of the model:\n  {listed}")
        steps = [f"{node.name} ({node.target}): {why}" for node, why in plan.eager.items() if not is_random(node)]
        if options.strict and steps:
            listed = "\n  ".join(steps)
            raise NotImplementedError(f"PyTorch would compute {len(steps)} steps, and strict is set:\n  {listed}")
        return plan

    def _planned(self, graph: Graph) -> SpecializedModule:
        """Return a plan: another graph, whose nodes are sections, and steps and views of PyTorch.

        graph: for certain sizes. Raises RefusedError for nodes that `ep` does not compute and that are not among the
        refused ones.
        """
        graph.eliminate_dead_code()
        steps, eager = divided(graph, self._refused)
        made, found, sections, at_once = dict[Node, Any](), Graph(), list[Section](), not self._plans

        def value_of(node: Node) -> Any:
            if node not in made:
                made[node] = found.node_copy(node, value_of)
            return made[node]

        for node in graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                value_of(node)
        for step in steps:
            if isinstance(step, Node):
                value_of(step)
            else:
                sections.append(Section(self._target, step, at_once))
                made |= sections[-1].add(found, value_of)
        (results,) = graph.output_node().args
        found.output(map_arg([*results] if isinstance(results, tuple | list) else [results], value_of))
        found.set_codegen(_BoxedCodeGen())
        return SpecializedModule(GraphModule(self._module, found).forward, sections, eager)
