"""All checks by name: functions that all ranks of a job call in this order."""

from functools import partial

from tests.mesh import (
    boxing_checks,
    error_checks,
    file_checks,
    function_checks,
    gradient_checks,
    refusal_checks,
    signature_checks,
)

CHECKS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": function
    for module in (boxing_checks, error_checks, file_checks, function_checks, gradient_checks, refusal_checks)
    for name, function in vars(module).items()
    if name.startswith("check_")
}
CHECKS["signatures.two_axes"] = signature_checks.check_two_axes
CHECKS |= {f"signatures.{name}": partial(signature_checks.check, case) for name, case in signature_checks.CASES.items()}
