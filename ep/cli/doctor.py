"""Check the installation: versions, devices, threads and the cache, and whether every device computes rightly."""

from __future__ import annotations

import platform
import sys
import time
from argparse import Namespace
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Final, NamedTuple

from ep.bench.cases import bench_cases
from ep.bench.trial import set_up
from ep.cli import cpu, cuda, names, output, present
from ep.cli.parser import Parser
from ep.include.device import Device
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.errors import DeviceUnavailableError
from ep.include.primitive import registered
from ep.version import __version__

_PACKAGES: Final = ("numpy", "numba", "llvmlite", "ml_dtypes", "rich")
_COUNT: Final = 2**12  # elements of the results that are checked: little work


class Finding(NamedTuple):
    """One line of the report. verdict: pass, fail, or nothing where there is nothing to judge."""

    what: str
    verdict: str
    details: str


def add_arguments(parser: Parser) -> None:
    """`ep doctor` has no options."""


def run(arguments: Namespace) -> int:
    """Print what was found; 1 where something fails."""
    findings: list[Finding] = []
    with output.status("looking at the installation; compiling a kernel may take some seconds"):
        for part in (_versions, _cpu, _cache, _devices):
            findings += part()
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
    yield Finding("numba-cuda", "", cuda.versions() or "not installed; needed for CUDA devices alone")


def _version(package: str) -> str | None:
    # the distribution, not the module: Numba has a numba.cuda of its own
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpu() -> Iterator[Finding]:
    yield Finding("processor", "", cpu.processor())
    try:
        (device,) = present.devices_of(DeviceType.kCPU)
        cpu.start_threads(device)
        yield Finding("threads", "pass", f"{device.GetNumThreads()}: {cpu.why_threads()}")  # type: ignore[attr-defined]
    except Exception as error:  # whatever is broken here is a finding, not the end of the report
        yield Finding("threads", "fail", _one_line(error))


def _cache() -> Iterator[Finding]:
    state = cpu.cache_state()
    why = cpu.why_cache_is_unread()
    if why is None and (unwritable := cpu.why_cache_is_unwritable()):
        why = f"cannot be written: {unwritable}"
    details = f"{output.plural(state.files, 'kernel')}, {output.megabytes(state.size)}, in {state.folder}"
    yield Finding("cache", "fail" if why else "pass", why or details)
    if state.leftover_folders:
        leftovers = f"{output.plural(state.leftover_folders, 'folder')}, {output.megabytes(state.leftover_size)}"
        yield Finding("cache leftovers", "", f"{leftovers} of other versions; 'ep cache clear' removes all kernels")


def _devices() -> Iterator[Finding]:
    for device_type in present.device_types():
        if not DeviceManagerRegistry.IsDeviceTypeRegistered(device_type):
            missing = f"ep {__version__} has no {device_type.tag} device, and no installed package adds one"
            yield Finding(device_type.tag, "", missing)
            continue
        try:
            found = present.devices_of(device_type)
        except DeviceUnavailableError as error:
            yield Finding(device_type.tag, "", f"not available: {error}")
            continue
        for device in found:
            try:
                if details := cuda.details(device):
                    yield Finding(present.label(device), "", details)
            except Exception as error:  # a GPU that is there but cannot be used
                yield Finding(present.label(device), "fail", _one_line(error))
            yield from _computes(device)


def _computes(device: Device) -> Iterator[Finding]:
    """Run a small case of every primitive that the device has, and compare it with NumPy."""
    label, start = present.label(device), time.perf_counter()
    implemented = {entry.interface for entry in registered(device.device_type())}
    cases = {case.primitive: case for case in bench_cases(_COUNT) if case.primitive in implemented}
    wrong = []
    for interface, case in cases.items():
        try:
            if not set_up(case, device, names.factory_of(interface)).is_right:
                wrong.append(f"{interface.__name__} differs from NumPy")
        except Exception as error:  # whatever is broken here is a finding, not the end of the report
            wrong.append(f"{interface.__name__}: {_one_line(error)}")
    right = f"{', '.join(interface.__name__ for interface in cases)} agree with NumPy"
    seconds = f" ({time.perf_counter() - start:.1f} s)"
    yield Finding(f"{label} computes", "fail" if wrong else "pass", ("; ".join(wrong) or right) + seconds)


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"
