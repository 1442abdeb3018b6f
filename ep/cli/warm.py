"""Preparation of registered keys in separate processes: the work of `ep cache warm`, without its output."""

from __future__ import annotations

import inspect
import logging
import multiprocessing
import signal
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any

from ep.cli import names
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.primitive import BlasTransposeType, Entry, NewPrimitive, Primitive, kMaxNumDims
from ep.include.primitive.op_table import attributes_of

Failures = list[tuple[str, str]]
"""Pairs of a key and its error, as text."""


def warm(entries: Sequence[Entry], jobs: int, capability: str | None = None) -> Iterator[tuple[int, Failures]]:
    """Prepare `entries` in `jobs` processes; yield the number of further keys that are done, and those that failed.

    capability: of devices of their one type that need not be present, as in `DeviceManager.compile_for`.

    First one key of each primitive is prepared, which compiles the part that all of its keys share, then the others.
    Keys that share kernels or functors stay in one process. Each kernel has its own file, so processes do not disturb
    each other.
    """
    first = list({(entry.interface, entry.device_type): entry for entry in reversed(entries)}.values())
    rest = [entry for entry in entries if entry not in first]
    absent = None if capability is None else (entries[0].device_type, capability)
    with processes(jobs, absent) as pool:
        for part in first, rest:
            futures = {pool.submit(prepare, chunk): len(chunk) for chunk in _chunks(part)}
            for done in as_completed(futures):
                yield futures[done], done.result()


@contextmanager
def processes(jobs: int, absent: tuple[DeviceType, str] | None = None) -> Iterator[ProcessPoolExecutor]:
    """Start processes that compile kernels; the remaining work is dropped at the end.

    absent: a device type and a capability to compile for, as in `warm`.
    """
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_start, initargs=(absent,))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _chunks(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Return `entries` grouped by the op, or the type of the indices, that they share; the largest groups first."""
    chunks: dict[Any, list[Entry]] = defaultdict(list)
    for entry in entries:
        chunks[entry.device_type, entry.op or entry.dtypes[1:]].append(entry)
    return sorted(chunks.values(), key=len, reverse=True)


def prepare(entries: Sequence[Entry]) -> Failures:
    """Prepare every key in this process."""
    failures = []
    for entry in entries:
        try:
            primitive = make(entry)
            if primitive is None:
                raise LookupError("NewPrimitive returns None")
            primitive.Prepare()
        except Exception as error:  # one key that cannot be compiled must not hide the others
            failures.append((str(entry), f"{type(error).__name__}: {error}".splitlines()[0]))
    return failures


def make(entry: Entry) -> Primitive | None:
    """Return a primitive for a registered key; arguments that the key does not fix have any value."""
    factory = names.factory_of(entry.interface)
    data_types = iter(entry.dtypes)
    arguments: dict[str, Any] = {}
    for name in inspect.signature(factory.New).parameters:
        if name in ("op", "kind"):
            arguments[name] = entry.op
        elif name.endswith("_type"):
            arguments[name] = next(data_types)
        elif name == "max_num_dims":
            arguments[name] = kMaxNumDims
        elif name.startswith("transpose_"):
            arguments[name] = next(iter(BlasTransposeType))
    for position, attribute in enumerate(attributes_of(entry.op)):
        if attribute.default is None:
            arguments[f"attr{position}"] = 1.0
    return NewPrimitive(factory, entry.device_type, **arguments)


def _start(absent: tuple[DeviceType, str] | None) -> None:
    """Set up a worker: Ctrl-C ends it at once without a traceback, since the command prints a line."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    logging.getLogger("ep").setLevel(logging.ERROR)
    if absent is not None:
        device_type, capability = absent
        DeviceManagerRegistry.GetDeviceManager(device_type).compile_for(capability)
