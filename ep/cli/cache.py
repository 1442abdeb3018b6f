"""Show, fill or clear the cache of compiled kernels.

Kernels are compiled when they are first needed and kept on disk. 'warm' compiles them ahead, 'info' says what there
is, 'clear' removes all of it. EP_CACHE_DIR puts the cache elsewhere.
"""

from __future__ import annotations

import re
import sys
import time
from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool

from ep.cli import cpu, kernel_caches, output, text
from ep.cli.filters import add_filters, chosen
from ep.cli.parser import CommandError, Parser
from ep.cli.warm import Failures, warm
from ep.common import environment
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.primitive import Entry

_MOST_FAILURES_SHOWN = 20
_MOST_JOBS = 1024


def add_arguments(parser: Parser) -> None:
    """Add info, warm and clear."""
    actions = parser.add_commands("action")
    info = actions.add_parser("info", help="where the cache is, and what is in it")
    info.set_defaults(act=_info)
    warming = actions.add_parser(
        "warm", help="compile the kernels of all registered keys, or of some, ahead", description=_warm.__doc__
    )
    add_filters(warming)
    warming.add_argument("--jobs", type=_jobs, default=cpu.available_threads(), help="processes (default: %(default)s)")
    warming.set_defaults(act=_warm)
    clear = actions.add_parser("clear", help="remove every kernel, also those of other versions of ep")
    clear.set_defaults(act=_clear)


def run(arguments: Namespace) -> int:
    """Do one of the three."""
    return int(arguments.act(arguments))


def _info(arguments: Namespace) -> int:
    state = kernel_caches.state()
    if state.why_unusable:
        output.facts({"folder": str(state.folder or "unknown"), "kernels": f"unknown: {state.why_unusable}"})
        return 1
    output.facts(
        {
            "folder": str(state.folder),
            "kernels": _amount(state.files, "file", state.size),
            "for CUDA": _amount(state.cuda_files, "file", state.cuda_size) if state.cuda_files else "none",
            "other versions": _amount(state.leftover_folders, "folder", state.leftover_size)
            if state.leftover_folders
            else "none",
        }
    )
    return 0


def _amount(number: int, noun: str, size: int) -> str:
    return f"{text.plural(number, noun)}, {text.megabytes(size)}"


def _clear(arguments: Namespace) -> int:
    state = _usable()
    try:
        freed = kernel_caches.clear()
    except OSError as error:
        raise CommandError(f"the cache cannot be cleared: {error}") from error
    others = f" and {text.plural(state.leftover_folders, 'folder')} of other versions" if state.leftover_folders else ""
    others += f" and {text.plural(state.cuda_files, 'file')} for CUDA" if state.cuda_files else ""
    removed = f"{text.plural(state.files, 'file')}{others} from {state.folder.parent}"
    print(f"removed {removed}: {text.megabytes(freed)} freed")
    return 0


def _usable() -> kernel_caches.CacheState:
    state = kernel_caches.state()
    if state.why_unusable:
        raise CommandError(f"the cache cannot be used: {state.why_unusable}")
    return state


def _warm(arguments: Namespace) -> int:
    """Compile ahead what the first Launch would compile, with all processors; what is there already is only read."""
    environment.check_all()  # else each process would fail on it, key by key
    fitting = chosen(arguments)
    if not fitting:
        return 1
    entries = [entry for entry in fitting if DeviceManagerRegistry.GetDeviceCount(entry.device_type) > 0]
    if not entries:
        absent = text.listed(list(dict.fromkeys(entry.device_type.tag for entry in fitting)))
        raise CommandError(f"nothing was compiled: there is no {absent} device; 'ep devices' says why")
    before, start = _usable(), time.perf_counter()
    print(f"preparing {text.plural(len(entries), 'key')} with {text.plural(arguments.jobs, 'process')}", flush=True)
    try:
        failures = _run_with_progress(entries, arguments.jobs)
    except BrokenProcessPool as error:
        raise CommandError(f"a process that compiled kernels died: {error}") from error
    for key, error_text in failures[:_MOST_FAILURES_SHOWN]:
        print(f"{arguments.prog}: {key}: {error_text}", file=sys.stderr)
    after = kernel_caches.state()
    new = text.plural(after.files + after.cuda_files - before.files - before.cuda_files, "new kernel")
    outcome = f"{len(entries) - len(failures):,} ready, {len(failures):,} failed"
    there = f"{text.megabytes(after.size + after.cuda_size)} in {after.folder.parent}"
    print(f"{outcome}, in {text.duration(time.perf_counter() - start)}: {new}, {there}")
    return 1 if failures else 0


def _run_with_progress(entries: Sequence[Entry], jobs: int) -> Failures:
    failures: Failures = []
    with output.progress("keys", len(entries)) as advance:
        for number, failed in warm(entries, jobs):
            failures += failed
            advance(number)
    return failures


def _jobs(given: str) -> int:
    if not (re.fullmatch("[0-9]{1,4}", given) and 1 <= int(given) <= _MOST_JOBS):
        raise ArgumentTypeError(f"{given!r} must be a number of processes from 1 to {_MOST_JOBS}, in digits alone")
    return int(given)
