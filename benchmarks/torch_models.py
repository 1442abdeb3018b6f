"""The group `torch`: the models of tests/torch/models.py by eager PyTorch, by inductor and by ep.

Times are medians of calls in turns, in a process for each model, mode and number of threads: one, and `--threads`.
First calls are measured in processes of their own: with empty caches, and again with what the first has left in them.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any, Final

from ep.cli import output

MODES: Final = ("inference", "training")
_COMPILERS: Final = ("g++", "clang++")
_LONGEST: Final = 3600.0


def ways() -> tuple[str, ...]:
    """Return how a model is computed here: inductor needs a C++ compiler."""
    has_compiler = any(map(shutil.which, filter(None, (os.environ.get("CXX"), *_COMPILERS))))
    return ("eager", *(("inductor", "freezing") if has_compiler else ()), "ep")


def measure(arguments: Namespace) -> dict[str, Any]:
    """Return the times of calls, the first calls and memory, and a small call; nothing without PyTorch."""
    if find_spec("torch") is None or "torch" not in arguments.peers:
        return {}
    from tests.torch.models import MODELS

    names = [name for name, one in MODELS.items() if all(map(find_spec, one.needs))]
    names = [name for name in names if re.search(arguments.cases, name)]
    common = {"large": not arguments.quick, "seconds": arguments.seconds}
    cases = [{"model": name, "mode": mode} for name in names for mode in MODES]
    threads = sorted({1, arguments.threads})
    with output.progress("measurements of PyTorch models", len(cases) * (len(threads) + 1) + 1) as advance:
        small = _run({"kind": "small", "threads": 1, "ways": ways(), **common})
        advance(1)
        times, starts = [], []
        for case in cases:
            some = _of_mode(ways(), case["mode"])
            for count in threads:
                found = _run({"kind": "times", **case, "threads": count, "ways": some, **common})
                times.append({**case, "threads": count, **found})
                advance(1)
            starts.append({**case, **_starts({**case, "threads": arguments.threads, **common}, some)})
            advance(1)
    return {"small": small, "times": times, "starts": starts}


def _of_mode(ways: Iterable[str], mode: str) -> list[str]:
    """Return the ways of a mode: parameters that are trained are not constant."""
    return [way for way in ways if way != "freezing" or mode == "inference"]


def _starts(case: Mapping[str, Any], ways: Iterable[str]) -> dict[str, Any]:
    """Return by way the seconds of the first call with empty caches and with full ones, and the peak memory then, in
    all and above that before the call."""
    cold, warm, peak, growth = {}, {}, {}, {}
    for way in (one for one in ways if one != "freezing"):
        with TemporaryDirectory() as folder:
            given = {"kind": "start", "way": way, **case}
            cold[way] = _run(given, folder)["seconds"]
            found = _run(given, folder)
            warm[way], peak[way], growth[way] = found["seconds"], found["peak"], found["growth"]
    return {"cold": cold, "warm": warm, "peak": peak, "growth": growth}


def _run(given: Mapping[str, Any], caches: str = "") -> dict[str, Any]:
    """Return what a process measures. caches: a folder for the caches of compilers; empty for the user's."""
    folders = {"EP_CACHE_DIR": f"{caches}/ep", "TORCHINDUCTOR_CACHE_DIR": f"{caches}/inductor"} if caches else {}
    command = [sys.executable, "-m", "benchmarks.torch_process", json.dumps(given)]
    done = subprocess.run(
        command, env={**os.environ, **folders}, stdout=subprocess.PIPE, text=True, check=True, timeout=_LONGEST
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def show(found: Mapping[str, Any]) -> None:
    """Print the tables."""
    print("microseconds of tanh(x * 2 + y) with 64 elements, with one thread:")
    print("  " + ", ".join(f"{way} {seconds * 1e6:.1f}" for way, seconds in found["small"].items()))
    for mode in MODES:
        some = [one for one in found["times"] if one["mode"] == mode]
        for threads in sorted({one["threads"] for one in some}):
            _show_times(
                mode, threads, [one for one in found["times"] if (one["mode"], one["threads"]) == (mode, threads)]
            )
        _show_starts(mode, [one for one in found["starts"] if one["mode"] == mode])


def _show_times(mode: str, threads: int, some: list[dict[str, Any]]) -> None:
    peers = [way for way in _ways_of(one["seconds"] for one in some) if way != "ep"]
    rows = []
    for one in some:
        seconds = one["seconds"]
        cells = [f"{seconds[way] * 1e3:.3g}" if way in seconds else "" for way in (*peers, "ep")]
        ratios = [f"{seconds[way] / seconds['ep']:.2f}" if way in seconds else "" for way in peers]
        rows.append([one["model"], *cells, *ratios, f"{one['difference']:.1e}"])
    means = [geometric_mean(one["seconds"][way] / one["seconds"]["ep"] for one in some if way in one["seconds"])
             for way in peers]  # fmt: skip
    rows.append(["geometric mean", *[""] * (len(peers) + 1), *(f"{mean:.2f}" for mean in means), ""])
    columns = ("model", *peers, "ep", *(f"{way} / ep" for way in peers), "difference")
    output.table(columns, rows, f"milliseconds, {mode}, {threads} thread{'s'[: threads > 1]}", right=columns[1:])
    for one in some:
        for way, reason in one["failed"].items():
            print(f"{one['model']}: {way} failed: {reason}")


def _show_starts(mode: str, some: list[dict[str, Any]]) -> None:
    if not some:
        return
    known = _ways_of(one["cold"] for one in some)
    rows = [
        [one["model"]]
        + [f"{one[kind][way]:.1f}" for kind in ("cold", "warm") for way in known]
        + [f"{one[kind][way] / 1e6:.0f}" for kind in ("peak", "growth") for way in known]
        for one in some
    ]
    columns = ("model", *(f"{way}, {kind}" for kind in ("cold", "warm", "MB", "MB more") for way in known))
    title = f"seconds of the first call with empty and full caches, and peak memory of a process, {mode}"
    output.table(columns, rows, title, right=columns[1:])


def _ways_of(some: Iterable[Mapping[str, Any]]) -> list[str]:
    return [*dict.fromkeys(way for one in some for way in one)]


def geometric_mean(ratios: Iterable[float]) -> float:
    """Return the geometric mean of one ratio or more."""
    logs = [math.log(one) for one in ratios]
    return math.exp(sum(logs) / len(logs))
