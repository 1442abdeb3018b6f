"""Kernels: the code that an operator runs on one device, and the conditions by which one of several is chosen.

A package registers kernels for operators that exist, on any device:

    @register_kernel("relu", matches=(device_type() == kFoo) & (data_type("x") == DataType.kFloat), priority=1)
    class FooRelu(Kernel):
        def compute(self, context): ...
"""

from ep.ops.kernels.conditions import (
    Predicate,
    Subject,
    always,
    attribute,
    data_type,
    device_type,
    views_exist,
)
from ep.ops.kernels.kernel import Kernel, KernelContext, PreparedKernel
from ep.ops.kernels.launching import Calls, launching
from ep.ops.kernels.primitive_exists import Need, PrimitiveExists, primitive_exists
from ep.ops.kernels.registry import Registration, kernels_of, register_kernel
from ep.run.plan import Plan
from ep.run.steps import Check, Function, Launch, Temporary, Value, View

__all__ = [
    "Calls",
    "Check",
    "Function",
    "Kernel",
    "KernelContext",
    "Launch",
    "Need",
    "Plan",
    "Predicate",
    "PreparedKernel",
    "PrimitiveExists",
    "Registration",
    "Subject",
    "Temporary",
    "Value",
    "View",
    "always",
    "attribute",
    "data_type",
    "device_type",
    "kernels_of",
    "launching",
    "primitive_exists",
    "register_kernel",
    "views_exist",
]
