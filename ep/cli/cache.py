"""Show, fill or clear the cache of compiled kernels.

Kernels are compiled when they are first needed and kept on disk. 'warm' compiles them ahead, 'info' prints what is in
the cache, 'clear' removes all of it. EP_CACHE_DIR sets another folder for the cache.
"""

from __future__ import annotations

import re
import sys
import time
from argparse import ArgumentTypeError, Namespace
from collections.abc import Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool

from ep.cli import kernel_caches, output, present, text
from ep.cli.filters import add_filters, chosen
from ep.cli.parser import CommandError, Parser, WrongArgumentError
from ep.cli.warm import Failures, warm
from ep.common import environment
from ep.common.native import compilers
from ep.common.processors import available_threads
from ep.include.compiled_kernels import KernelsOnDisk
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.errors import ArgumentValueError, DeviceUnavailableError
from ep.include.primitive import Entry

_MOST_FAILURES_SHOWN = 20
_MOST_JOBS = 1024


def add_arguments(parser: Parser) -> None:
    """Add the commands info, warm and clear."""
    actions = parser.add_commands("action")
    info = actions.add_parser("info", help="where the cache is, and what is in it")
    info.set_defaults(act=_info)
    warming = actions.add_parser(
        "warm", help="compile the kernels of all registered keys, or of some, ahead", description=_warm.__doc__
    )
    add_filters(warming)
    warming.add_argument("--jobs", type=_jobs, default=available_threads(), help="processes (default: %(default)s)")
    warming.add_argument(
        "--capability", help="of CUDA devices that need not be there, such as 9.0: the folder can be carried to them"
    )
    warming.set_defaults(act=_warm)
    clear = actions.add_parser("clear", help="remove every kernel, also those of other versions of ep")
    clear.set_defaults(act=_clear)


def run(arguments: Namespace) -> int:
    """Run the chosen one of the three commands."""
    return int(arguments.act(arguments))


def _info(arguments: Namespace) -> int:
    there = kernel_caches.on_disk()
    output.facts({what: words for tag, kernels in there.items() for what, words in _in_words(tag, kernels).items()})
    return 1 if any(kernels.why_unusable for kernels in there.values()) else 0


def _in_words(tag: str, kernels: KernelsOnDisk) -> dict[str, str]:
    if kernels.why_unusable:
        return {tag: f"unknown, in {kernels.folder or 'no folder'}: {kernels.why_unusable}"}
    said = {tag: f"{_amount(kernels.files, 'kernel', kernels.size)}, in {kernel_caches.folders(kernels)}"}
    if kernels.unfinished:
        left = text.plural(kernels.unfinished, "file")
        said[f"{tag}, not finished"] = f"{left}; a process that writes kernels removes those of ended processes"
    if kernels.leftover_folders:
        leftovers = _amount(kernels.leftover_folders, "folder", kernels.leftover_size)
        said[f"{tag}, other versions"] = leftovers
    return said


def _amount(number: int, noun: str, size: int) -> str:
    return f"{text.plural(number, noun)}, {text.megabytes(size)}"


def _clear(arguments: Namespace) -> int:
    removed = []
    for tag, kernels in _usable(kernel_caches.on_disk()).items():
        try:
            freed = kernel_caches.clear(tag)
        except OSError as error:
            raise CommandError(f"the {tag} kernels cannot be removed: {error}") from error
        others = kernels.leftover_folders
        parts = [text.plural(kernels.files, "kernel")]
        parts += [f"{text.plural(kernels.unfinished, 'file')} not finished"] if kernels.unfinished else []
        parts += [f"{text.plural(others, 'folder')} of other versions"] if others else []
        removed.append(f"{tag}: removed {text.listed(parts)}, {text.megabytes(freed)} freed")
    print("\n".join(removed) or "no device keeps kernels")
    return 0


def _usable(there: Mapping[str, KernelsOnDisk]) -> Mapping[str, KernelsOnDisk]:
    for tag, kernels in there.items():
        if kernels.why_unusable:
            raise CommandError(f"the {tag} kernels cannot be used: {kernels.why_unusable}")
    return there


def _warm(arguments: Namespace) -> int:
    """Compile all kernels that the first Launch would compile, on all processors; kernels on disk are only read."""
    environment.check_all()  # else each process would fail on it, key by key
    fitting = chosen(arguments)
    if not fitting:
        return 1
    if arguments.capability is not None:
        return _warm_for_absent(arguments, fitting)
    entries = [entry for entry in fitting if DeviceManagerRegistry.GetDeviceCount(entry.device_type) > 0]
    if not entries:
        absent = text.listed(list(dict.fromkeys(entry.device_type.tag for entry in fitting)))
        raise CommandError(f"nothing was compiled: there is no {absent} device; 'ep devices' says why")
    types = list(dict.fromkeys(entry.device_type for entry in entries))
    if types == [DeviceType.kCPU] and (why := compilers.chosen()):
        raise CommandError(f"nothing was compiled, since kernels would not be kept: {why}")
    failed = _compile(arguments, entries)
    for device_type in types:
        for index in range(DeviceManagerRegistry.GetDeviceCount(device_type)):
            device = DeviceManagerRegistry.GetDevice(device_type, index)
            if said := device.calibrate():
                print(f"{present.label(device)}: {said}")
    return failed


def _warm_for_absent(arguments: Namespace, fitting: Sequence[Entry]) -> int:
    """Compile for devices that need not be present: those of one type, which is CUDA if no other is named."""
    wanted = arguments.device or [DeviceType.kCUDA]
    if len(wanted) != 1:
        raise WrongArgumentError("--capability is for one device type; name one by --device")
    entries = [entry for entry in fitting if entry.device_type is wanted[0]]
    if not entries:
        raise CommandError(f"nothing was compiled: no such key is registered for {wanted[0].tag}")
    try:
        DeviceManagerRegistry.GetDeviceManager(wanted[0]).compile_for(arguments.capability)
    except ArgumentValueError as error:
        raise WrongArgumentError(str(error)) from error
    except (DeviceUnavailableError, RuntimeError) as error:
        raise CommandError(str(error)) from error
    return _compile(arguments, entries)


def _compile(arguments: Namespace, entries: Sequence[Entry]) -> int:
    """Compile the kernels of keys in processes, then print the contents of the cache; return the exit code."""
    types = list(dict.fromkeys(entry.device_type for entry in entries))
    before, start = _usable(kernel_caches.on_disk(types)), time.perf_counter()
    print(f"preparing {text.plural(len(entries), 'key')} with {text.plural(arguments.jobs, 'process')}", flush=True)
    try:
        failures = _run_with_progress(entries, arguments.jobs, arguments.capability)
    except BrokenProcessPool as error:
        raise CommandError(f"a process that compiled kernels died: {error}") from error
    for key, error_text in failures[:_MOST_FAILURES_SHOWN]:
        print(f"{arguments.prog}: {key}: {error_text}", file=sys.stderr)
    outcome = f"{len(entries) - len(failures):,} ready, {len(failures):,} failed"
    print(f"{outcome}, in {text.duration(time.perf_counter() - start)}")
    for tag, kernels in kernel_caches.on_disk(types).items():
        new = text.plural(kernels.files - before[tag].files, "new kernel")
        print(f"{tag}: {new}, {text.megabytes(kernels.size)} in {kernel_caches.folders(kernels)}")
    return 1 if failures else 0


def _run_with_progress(entries: Sequence[Entry], jobs: int, capability: str | None) -> Failures:
    failures: Failures = []
    with output.progress("keys", len(entries)) as advance:
        for number, failed in warm(entries, jobs, capability):
            failures += failed
            advance(number)
    return failures


def _jobs(given: str) -> int:
    if not (re.fullmatch("[0-9]{1,4}", given) and 1 <= int(given) <= _MOST_JOBS):
        raise ArgumentTypeError(f"{given!r} must be a number of processes from 1 to {_MOST_JOBS}, in digits alone")
    return int(given)
