"""A graph of PyTorch as a callable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule

from ep.common.bounded_cache import BoundedCache
from ep.garbage import garbage_waits
from ep.include.device_type import DeviceType
from ep.include.errors import UnsupportedPrimitiveError
from ep.torch.division import is_random
from ep.torch.plan import Plan, planned
from ep.torch.section import RefusedError, Target
from ep.torch.sizing import Symbols


class CompiledGraph:
    """A graph of AOTAutograd on a device: a plan for each combination of input sizes. Several threads may call it."""

    def __init__(self, module: GraphModule, target: Target) -> None:
        module.graph.eliminate_dead_code()
        self._boxed_call = True  # says to AOTAutograd that the inputs come in a list, which a call empties
        self._module, self._target = module, target
        self._symbols = Symbols(module.graph)
        self._refused: dict[Any, Exception] = {}
        self._plans = BoundedCache()

    def __call__(self, args: list[Any]) -> list[Any]:
        """Return the results. Raises NotImplementedError for steps that PyTorch would compute, where those are errors,
        and UnsupportedPrimitiveError, which lists all that the device lacks."""
        key = self._symbols.key(args) if self._symbols.vary else ()
        plan = self._plans.get(key)
        if plan is None:
            plan = self.plan(args)
            self._plans.put(key, plan)
        found: list[Any] = plan.run(args)
        return found

    def any_plan(self) -> Plan:
        """Return a plan that there is; if there is none yet, one for the sizes that PyTorch traced the graph with."""
        for plan in (*self._plans.values(), *self._plans.older.values()):
            return plan  # type: ignore[no-any-return]
        said = [self._symbols.said[node] for node in self._symbols.placeholders]
        return self.plan([one.node.hint if isinstance(one, torch.SymFloat) else one for one in said])

    def plan(self, args: Sequence[Any]) -> Plan:
        """Return a new plan for inputs of some sizes."""
        with garbage_waits():
            plan, at_once = None, not self._plans
            while plan is None:
                try:
                    plan = planned(self._module, self._symbols, args, self._refused, self._target, at_once=at_once)
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
