"""Kernels that are registered during a test."""

from collections.abc import Iterator
from contextlib import contextmanager

from ep.include import additions
from ep.ops.declare.operator import operator_named
from ep.ops.kernels import registry


@contextmanager
def registered(operator: str, make: type[registry.Kernel]) -> Iterator[None]:
    """Have a kernel compute an operator, before all others."""
    kernels, added = registry._KERNELS[operator], {*additions._ADDED}
    registry.register_kernel(operator, priority=1000)(make)
    try:
        yield
    finally:
        registry._KERNELS[operator] = kernels
        additions._ADDED.intersection_update(added)
        operator_named(operator).forget()
