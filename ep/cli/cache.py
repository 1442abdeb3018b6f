"""Show, fill or clear the cache of compiled kernels.

Kernels are compiled when they are first needed and kept on disk. 'warm' compiles them ahead, 'info' says what there
is, 'clear' removes all of it. EP_CACHE_DIR puts the cache elsewhere.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentTypeError, Namespace
from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool

from ep.cli import cpu, cuda, output
from ep.cli.filters import add_filters, chosen
from ep.cli.parser import CommandError, Parser
from ep.cli.warm import Failures, warm
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.primitive import Entry

_MOST_FAILURES_SHOWN = 20


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
    state, (files, size) = cpu.cache_state(), cuda.cache_usage()
    leftovers = output.plural(state.leftover_folders, "folder")
    unread = cpu.why_cache_is_unread()
    output.facts(
        {
            "folder": str(state.folder),
            **({"not used": unread} if unread else {}),
            "kernels": f"{output.plural(state.files, 'file')}, {output.megabytes(state.size)}",
            "for CUDA": f"{output.plural(files, 'file')}, {output.megabytes(size)}" if files else "none",
            "other versions": f"{leftovers}, {output.megabytes(state.leftover_size)}"
            if state.leftover_folders
            else "none",
        }
    )
    return 0


def _clear(arguments: Namespace) -> int:
    state, (cuda_files, _) = cpu.cache_state(), cuda.cache_usage()
    try:
        freed = cpu.clear_cache() + cuda.clear_cache()
    except OSError as error:
        raise CommandError(f"the cache cannot be cleared: {error}") from error
    others = (
        f" and {output.plural(state.leftover_folders, 'folder')} of other versions" if state.leftover_folders else ""
    )
    others += f" and {output.plural(cuda_files, 'file')} for CUDA" if cuda_files else ""
    removed = f"{output.plural(state.files, 'file')}{others} from {state.folder.parent}"
    print(f"removed {removed}: {output.megabytes(freed)} freed")
    return 0


def _warm(arguments: Namespace) -> int:
    """Compile ahead what the first Launch would compile, with all processors; what is there already is only read."""
    entries = [entry for entry in chosen(arguments) if DeviceManagerRegistry.GetDeviceCount(entry.device_type) > 0]
    if not entries:
        return 0
    before, start = cpu.cache_state(), time.perf_counter()
    print(f"preparing {output.plural(len(entries), 'key')} with {output.plural(arguments.jobs, 'process')}", flush=True)
    try:
        failures = _run_with_progress(entries, arguments.jobs)
    except BrokenProcessPool as error:
        raise CommandError(f"a process that compiled kernels died: {error}") from error
    for key, error_text in failures[:_MOST_FAILURES_SHOWN]:
        print(f"{arguments.prog}: {key}: {error_text}", file=sys.stderr)
    after = cpu.cache_state()
    new = output.plural(after.files - before.files, "new kernel")
    outcome = f"{len(entries) - len(failures):,} ready, {len(failures):,} failed"
    print(f"{outcome}, in {time.perf_counter() - start:.1f} s: {new}, {output.megabytes(after.size)} in {after.folder}")
    return 1 if failures else 0


def _run_with_progress(entries: Sequence[Entry], jobs: int) -> Failures:
    failures: Failures = []
    with output.progress("keys", len(entries)) as advance:
        for number, failed in warm(entries, jobs):
            failures += failed
            advance(number)
    return failures


def _jobs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} must be a number of processes, at least 1")
    return int(text)
