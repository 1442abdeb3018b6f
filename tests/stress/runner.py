"""Runs trials in child processes and gathers their outcomes."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from tools.search_paths import extended

ROOT = Path(__file__).parents[2]
KINDS = (
    *("launches", "malformed", "copies", "threads", "forks", "compiling_forks", "interrupts", "cache_files", "leaks"),
    *("gradients", "overlaps", "ranks", "stacks", "operators"),
)
AT_ONCE = 500
"""The number of trials of one process: a new process is started after them, so that none runs for too long."""


@dataclass
class Failure:
    """A failed trial: the reason, and the command that repeats it."""

    kind: str
    number: int
    reason: str
    command: str

    def __str__(self) -> str:
        return f"{self.kind} {self.number}: {self.reason.rstrip()}\nrepeat it: {self.command}"


@dataclass
class Outcome:
    """The outcome of the trials of one kind."""

    trials: int = 0
    seconds: float = 0.0
    failures: list[Failure] = field(default_factory=list)
    growth: float = 0.0  # KiB for 1000 launches, at most

    def add(self, other: "Outcome") -> None:
        """Add the outcome of other trials."""
        self.trials += other.trials
        self.seconds = max(self.seconds, other.seconds)  # they ran in parallel
        self.failures += other.failures
        self.growth = max(self.growth, other.growth)


def command(kind: str, tag: str, seed: int, number: int) -> str:
    """Return the command that repeats one trial."""
    return f"python -m tests.stress --device {tag} --seed {seed} --only {kind} --trial {number}"


def is_for(kind: str, tag: str) -> bool:
    """Return whether there are trials of `kind` on the device type `tag`."""
    devices = import_module(f"tests.stress.{kind}").DEVICES
    return devices is None or tag in devices


def run(kind: str, tag: str, seed: int, first: int, step: int, count: int, seconds: float) -> Outcome:
    """Run trials `first`, `first + step`, ..., at most `count` of them; none begins after `seconds`."""
    module, outcome, begin = import_module(f"tests.stress.{kind}"), Outcome(), time.monotonic()
    number, last = first, first + step * count
    while number < last and (left := begin + seconds - time.monotonic()) > 0:
        at_once = 1 if module.FRESH else min(AT_ONCE, (last - number) // step)
        arguments = {"first": number, "step": step, "count": at_once, "seconds": left}
        begun, part = _one_process({"kind": kind, "tag": tag, "seed": seed, **arguments}, left + module.SECONDS)
        outcome.add(part)
        number = begun + step
    outcome.seconds = time.monotonic() - begin
    return outcome


def _one_process(arguments: dict, seconds: float) -> tuple[int, Outcome]:
    """Run one worker; return the last trial that it began, and the outcome of its trials."""
    kind, tag, seed = arguments["kind"], arguments["tag"], arguments["seed"]
    with tempfile.TemporaryDirectory(prefix="ep-stress-") as folder:
        report, output = Path(folder, "report"), Path(folder, "output")
        worker = [sys.executable, "-X", "faulthandler", "-m", "tests.stress.worker"]
        with output.open("wb") as file:
            process = subprocess.Popen(
                [*worker, json.dumps({**arguments, "report": str(report)})],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": extended("PYTHONPATH", ROOT)},
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                ended = process.wait(seconds + 60)  # the worker itself ends a trial that hangs
            except subprocess.TimeoutExpired:
                ended = None
            finally:
                _kill_group(process)
        lines = [json.loads(line) for line in report.read_text().splitlines()] if report.exists() else []
        tail = output.read_text(errors="replace")[-6000:]  # the output of the last trial, unless that is longer
        tail = tail[tail.rfind("\ntrial ") + 1 :]
    begun = [line["begun"] for line in lines if "begun" in line]
    over = {line["over"]: line for line in lines if "over" in line}
    if not begun:
        raise RuntimeError(f"a worker of {kind} ended with {ended} before its first trial:\n{tail}")
    outcome = Outcome(trials=len(begun), growth=max((line["growth"] or 0 for line in over.values()), default=0))
    for number in begun:
        failure = over[number]["failure"] if number in over else f"{_end_of(ended)}\n{tail}"
        if failure:
            outcome.failures.append(Failure(kind, number, failure, command(kind, tag, seed, number)))
    return begun[-1], outcome


def _kill_group(process: subprocess.Popen) -> None:
    """Kill all processes that a worker left behind, including forked children that hang."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()


def _end_of(status: int | None) -> str:
    if status is None:
        return "the process hung, and was killed"
    if status < 0:
        return f"the process crashed: {signal.Signals(-status).name}"
    return f"the process ended with {status}: the trial hung, or ended it"


def summary(outcomes: dict[str, Outcome]) -> str:
    """Return the table at the end."""
    rows = [("kind", "trials", "failures", "seconds")]
    rows += [
        (kind, f"{of.trials:,}", f"{len(of.failures):,}", f"{of.seconds:.0f}") for kind, of in sorted(outcomes.items())
    ]
    lines = [f"{kind:<14}{trials:>10}{failures:>10}{seconds:>10}" for kind, trials, failures, seconds in rows]
    if "leaks" in outcomes:
        lines.append(f"memory grows by {outcomes['leaks'].growth:.0f} KiB in 1000 launches at most")
    return "\n".join(lines)
