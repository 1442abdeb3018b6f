"""A graph of PyTorch as a callable: for inputs of certain sizes, another graph, of sections and steps of PyTorch."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.graph import _BoxedCodeGen

from ep.common.bounded_cache import BoundedCache
from ep.garbage import garbage_waits
from ep.include.device_type import DeviceType
from ep.include.errors import UnsupportedPrimitiveError
from ep.torch.division import Division, is_random
from ep.torch.section import RefusedError, Section, Target
from ep.torch.sizing import Sizing, Symbols


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
        self._symbols = Symbols(module.graph)
        self._refused: dict[Any, Exception] = {}
        self._plans = BoundedCache(operator.attrgetter("holds"))

    def __call__(self, args: list[Any]) -> list[Any]:
        """Return the results. Raises NotImplementedError for steps that PyTorch would compute, where those are errors,
        and UnsupportedPrimitiveError, which lists all that the device lacks."""
        key = self._symbols.key(args) if self._symbols.vary else ()
        plan = self._plans.get(key) or self._plans.keep(key, lambda: self.plan(args))
        return plan.run(args)

    def any_plan(self) -> SpecializedModule:
        """Return a plan that there is; if there is none yet, one for the sizes that PyTorch traced the graph with."""
        for plan in (*self._plans.values(), *self._plans.older.values()):
            return plan  # type: ignore[no-any-return]
        said = [self._symbols.said[node] for node in self._symbols.placeholders]
        return self.plan([one.node.hint if isinstance(one, torch.SymFloat) else one for one in said])

    def plan(self, args: Sequence[Any]) -> SpecializedModule:
        """Return a new plan for inputs of some sizes."""
        with garbage_waits():
            plan, at_once = None, not self._plans
            while plan is None:
                try:
                    plan = self._planned(args, at_once)
                except RefusedError as error:
                    if not error.reasons.keys() - self._refused.keys():
                        raise  # nothing would change
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

    def _planned(self, args: Sequence[Any], at_once: bool) -> SpecializedModule:
        """Return a plan: another graph, whose nodes are sections, and steps and views of PyTorch.

        at_once: whether the first call keeps the plan on disk. Raises RefusedError for nodes that `ep` does not compute
        and that are not among the refused ones.
        """
        symbols, graph, sections = self._symbols, Graph(), list[Section]()
        sizing, kinds = Sizing(symbols, args), dict(zip(symbols.placeholders, map(type, args), strict=True))
        (wanted,) = self._module.graph.output_node().args
        results: Sequence[Any] = wanted if isinstance(wanted, tuple | list) else [wanted]
        division = Division([*symbols.said], results, sizing, self._refused)
        stored = self._target.stored()
        made = {node: graph.node_copy(node) for node in symbols.said if node.op in ("placeholder", "get_attr")}

        def value_of(node: Any) -> Any:
            if not isinstance(node, Node):
                return node
            if node in sizing.numbers:
                return sizing.numbers[node]
            if node not in made:
                made[node] = graph.node_copy(node, value_of)
            return made[node]

        for step in division.steps:
            if isinstance(step, Node):
                value_of(step)
                continue
            section = Section(self._target, stored, step, sizing, at_once)
            pairs = zip(step.inputs, section.readers, strict=True)
            read = {node.name: layout.add_array(graph, value_of(node), kinds.get(node)) for node, layout in pairs}
            found = graph.call_function(section.run, (read,))
            for k, (node, layout) in enumerate(zip(step.results, section.writers, strict=True)):
                made[node] = layout.add_tensor(graph, graph.call_function(operator.getitem, (found, k)))
            sections.append(section)
        graph.output([value_of(one) for one in results])
        graph.set_codegen(_BoxedCodeGen())
        return SpecializedModule(GraphModule(self._module, graph).forward, sections, division.eager)
