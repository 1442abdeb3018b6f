"""All checks by name: functions that every rank of a job calls, in this order."""

from tests.mesh import boxing_checks, refusal_checks

CHECKS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": function
    for module in (boxing_checks, refusal_checks)
    for name, function in vars(module).items()
    if name.startswith("check_")
}
