"""Check the installation: versions, devices, threads and the cache, and whether every device computes correctly."""

from __future__ import annotations

import platform
import sys
import time
from argparse import Namespace
from collections.abc import Collection, Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Final

from ep.bench.builders_expression import expression_cases
from ep.bench.cases import bench_cases
from ep.cli import kernel_caches, names, output, present, text
from ep.cli.case_coverage import Coverage
from ep.cli.parser import Parser
from ep.common.environment import VARIABLES
from ep.include.compiled_kernels import CompiledKernels
from ep.include.device import Device
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.errors import DeviceUnavailableError, EnvironmentVariableError
from ep.include.finding import Finding
from ep.include.primitive.registry import implemented
from ep.version import __version__

_PACKAGES: Final = ("numpy", "numba", "llvmlite", "ml_dtypes", "rich")
_COUNT: Final = 2**12  # elements of the results that are checked: little work


def add_arguments(parser: Parser) -> None:
    """Add the option of `ep doctor`."""
    parser.add_argument("--device", type=names.device_type, action="append", help="such as cpu (default: all)")


def run(arguments: Namespace) -> int:
    """Print the findings; return 1 if a check fails."""
    wanted = arguments.device or present.device_types()
    findings = [*_versions(), *_environment(), *_devices(wanted)]
    output.table(("what", "verdict", "details"), findings)
    failed = [finding.what for finding in findings if finding.verdict == "fail"]
    print(f"\nThese fail: {', '.join(failed)}." if failed else "\nNothing fails.")
    return 1 if failed else 0


def _versions() -> Iterator[Finding]:
    yield Finding("ep", "", f"{__version__}, in {Path(__file__).parents[1]}")
    yield Finding("python", "", f"{platform.python_version()}, {sys.executable}")
    for package in _PACKAGES:
        version = _version(package)
        yield Finding(package, "pass" if version else "fail", version or "not installed")


def _version(package: str) -> str | None:
    # the distribution, not the module: Numba has a numba.cuda of its own
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _environment() -> Iterator[Finding]:
    for variable in VARIABLES:
        given = variable.text()
        try:
            variable.value()
        except EnvironmentVariableError as error:
            yield Finding(variable.name, "fail", str(error))
            continue
        if given is None:
            yield Finding(variable.name, "", "not set")
        else:
            yield Finding(variable.name, "pass", f"set to {given!r}: {variable.meaning}")


def _devices(wanted: Iterable[DeviceType]) -> Iterator[Finding]:
    num_found = num_failed = 0
    for device_type in wanted:
        try:
            manager = DeviceManagerRegistry.GetDeviceManagerOrNull(device_type)
            if manager is None:
                missing = f"ep {__version__} has no {device_type.tag} device, and no installed package adds one"
                yield Finding(device_type.tag, "", missing)
                continue
            yield from manager.findings()
            found = present.devices_of(device_type)
        except DeviceUnavailableError as error:
            yield Finding(device_type.tag, "", f"not available: {error}")
            continue
        except Exception as error:  # any error here is a finding, and must not end the report
            yield Finding(device_type.tag, "fail", present.one_line(error))
            num_failed += 1
            continue
        if kernels := manager.compiled_kernels():
            yield from _kernels(f"{device_type.tag} kernels", kernels)
        num_found += len(found)
        for device in found:
            yield from _of_itself(device)
            yield from _computes(device)
    if not num_found and not num_failed:
        yield Finding("devices", "fail", "none is available: nothing can be launched")


def _of_itself(device: Device) -> list[Finding]:
    """Return the findings that the device reports itself."""
    said: list[Finding] = []
    try:
        with output.status(f"looking at {present.label(device)}"):
            said.extend(device.findings())
    except Exception as error:  # a device that is present but cannot be used
        said.append(Finding(present.label(device), "fail", present.one_line(error)))
    return said


def _kernels(what: str, kernels: CompiledKernels) -> Iterator[Finding]:
    there = kernels.on_disk()
    if there.why_unusable:
        yield Finding(what, "fail", f"{there.why_unusable}; kernels are compiled anew in each process")
        return
    why = kernels.why_unwritable()
    details = f"{text.plural(there.files, 'kernel')}, {text.megabytes(there.size)}, in {kernel_caches.folders(there)}"
    yield Finding(what, "fail" if why else "pass", f"cannot be written: {why}" if why else details)
    if there.leftover_folders:
        leftovers = f"{text.plural(there.leftover_folders, 'folder')}, {text.megabytes(there.leftover_size)}"
        yield Finding(f"old {what}", "", f"{leftovers} of other versions; 'ep cache clear' removes all kernels")


def _computes(device: Device) -> Iterator[Finding]:
    """Yield the findings of small cases, one of each primitive and kind of expression that the device has.

    Each is launched and compared with NumPy; one that is not launched is a failure. Without kernels on disk, all have
    to be compiled first.
    """
    coverage, start = Coverage(device, [*bench_cases(_COUNT), *expression_cases(_COUNT)]), time.perf_counter()
    what = f"{coverage.label} computes"
    try:
        verdicts = coverage.run(lambda case, trial: (case.primitive.__name__, trial.is_right), one_of_each=True)
    except EnvironmentVariableError as error:
        yield Finding(what, "fail", str(error))
        return
    if not coverage.ran:
        yield Finding(what, "", coverage.in_words())
        return
    different = dict.fromkeys(name for name, is_right in verdicts if not is_right)
    wrong = [_said(different, "differs from NumPy", "differ from NumPy")] if different else []
    wrong += coverage.failures
    right = _said(dict.fromkeys(name for name, _ in verdicts), "agrees with NumPy", "agree with NumPy")
    details = "; ".join(wrong) or right
    details += f" ({text.duration(time.perf_counter() - start)})"
    ran = {case.primitive for case in coverage.ran}
    others = [factory.primitive for factory in implemented(device.device_type()) if factory.primitive not in ran]
    if others:
        details += f"; no case here fits {text.listed([other.__name__ for other in others])}"
    yield Finding(what, "fail" if wrong else "pass", details)


def _said(names: Collection[str], of_one: str, of_many: str) -> str:
    return f"{text.listed(list(names))} {of_one if len(names) == 1 else of_many}"
