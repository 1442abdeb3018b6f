"""The parent of all work: it imports neither CUDA nor NumPy, starts processes, and ends them at their limits."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from benchmarks.gpu.plan import COMMANDS, GRACE, Stage

_START: Final = 60.0  # seconds for a process to import what it needs
_PLAIN: Final = str.maketrans("", "", '"{}')
ROOT: Final = Path(__file__).resolve().parents[2]
_PACKAGES: Final = "numpy numba numba-cuda llvmlite ml_dtypes cuda-bindings nvidia-nvvm nvidia-nvjitlink torch pytest"
_PYTEST: Final = (  # without plugins that happen to be installed, whose warnings would be errors
    "-v --tb=short -p xdist -p hypothesispytest -p no:cacheprovider --ep-device cuda --ep-turn gpu"
    " --hypothesis-seed 0 -n"
)


class Run:
    """One command: its stages, its file of results, and what happened so far.

    only: a pattern of STAGE: CASE. begun: when the command began, by the monotonic clock. options: of `Bench`.
    rehearses: whether nothing computes. limits: whether stages and cases are ended at theirs. tests: the environment of
    pytest, and more options.
    """

    def __init__(self, command: str, folder: Path, environment: dict[str, str], *, only: str, begun: float) -> None:
        self.command, self.folder, self.environment, self.only, self.begun = command, folder, environment, only, begun
        self.options, self.rehearses, self.limits = dict[str, Any](), False, True
        self.tests: tuple[dict[str, str], list[str]] = environment, []
        self.ran = self.failed = self.compiled = 0
        self.stopped, self._pending, self._last = "", list[str](), dict[str, Any]()
        folder.mkdir(parents=True, exist_ok=True)
        self._results = folder.absolute() / f"{command}.jsonl"
        self._file = os.open(self._results, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        size = os.fstat(self._file).st_size
        if size and os.pread(self._file, 1, size - 1) != b"\n":  # an earlier run ended within a line
            size += os.write(self._file, b"\n")
        self._read = size

    def run(self) -> Run:
        """Run all stages, in the time that they have, until a signal ends it; return itself."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._stop)
        self._write(**self._header())
        end, not_reached = self.begun, {}
        for stage in COMMANDS[self.command]:
            end += stage.seconds  # so that a stage gets what earlier ones left
            self._pending = [case for case in stage.cases if re.search(self.only, f"{stage.name}: {case}")]
            begin = time.monotonic()
            if self._pending and self._goes_on(end):
                {"run": self._commands, "test": self._tests}.get(stage.does, self._cases)(stage, end)
                self._write(stage=stage.name, seconds=round(time.monotonic() - begin, 1))
            if self._pending:
                not_reached[stage.name] = self._pending
        counts = {"ran": self.ran, "failed": self.failed, "compiled": self.compiled, "stopped": self.stopped}
        self._write(seconds=round(time.monotonic() - self.begun, 1), **counts, not_reached=not_reached)
        return self

    def _stop(self, number: int, frame: object) -> None:
        self.stopped = signal.Signals(number).name  # `timeout` may send it twice

    def _goes_on(self, end: float) -> bool:
        return not self.stopped and (not self.limits or time.monotonic() < end)

    def _header(self) -> dict[str, Any]:
        path = [*self.environment["PYTHONPATH"].split(os.pathsep), *sys.path]
        found = {name: next(metadata.Distribution.discover(name=name, path=path), None) for name in _PACKAGES.split()}
        query = "timeout -k 1 10 nvidia-smi --query-gpu=name,driver_version --format=csv,noheader"
        code, said = subprocess.getstatusoutput(query)
        name, _, driver = ("" if code else said).partition("\n")[0].partition(", ")
        return {
            "command": self.command,
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "device": "none: the driver computes nothing, and no time is a GPU's" if self.rehearses else name,
            "driver": driver,
            "versions": {"python": platform.python_version()} | {n: each.version for n, each in found.items() if each},
        }

    def _write(self, **line: Any) -> None:
        """Write a line to the results, and print it."""
        os.write(self._file, f"{json.dumps(line)}\n".encode())
        self._new_lines()

    def _new_lines(self) -> bool:
        """Print and count the lines that were written to the results since the last call; return if there are any."""
        text = os.pread(self._file, os.fstat(self._file).st_size - self._read, self._read)
        lines = text[: text.rfind(b"\n") + 1].splitlines(keepends=True)
        self._read += sum(map(len, lines))
        for line in map(json.loads, lines):
            self._last = line
            self.ran += "case" in line and not {"error", "not_run", "ended"} & set(line)
            self.failed += "error" in line
            self.compiled += line.get("compiled", 0) if "stage" in line else 0
            if line.get("case") in self._pending:
                self._pending.remove(line["case"])
            what = ": ".join(line[name] for name in ("stage", "case") if name in line)
            rest = {name: value for name, value in line.items() if name not in ("stage", "case", "quartiles", "bytes")}
            said = f"{time.monotonic() - self.begun:5.0f} s  {what}  {json.dumps(rest).translate(_PLAIN)}"
            with contextlib.suppress(BrokenPipeError):  # the file has it
                print(said, flush=True)
        return bool(lines)

    def _watch(self, command: list[str], environment: Any, output: Path, end: float, **limits: float) -> str:
        """Run a process until it ends, hangs or its time is up; return its exit code or that it hangs, in words.

        patience: seconds without a result, after the first line; start: before. grace: seconds to end after SIGINT.
        It has a session of its own, which neither the terminal nor `timeout` signals, and which is killed at the end.
        """
        patience, start, grace = (limits.get(name, 1e9) for name in ("patience", "start", "grace"))
        options: dict[str, Any] = {"cwd": ROOT, "env": environment, "start_new_session": True}
        with output.open("ab") as file:
            process = subprocess.Popen(command, stdout=file, stderr=file, **options)
        self._last, heard = {}, time.monotonic()
        try:
            while True:
                code = process.poll()  # before its last lines are read
                heard = time.monotonic() if self._new_lines() else heard
                hangs = self.limits and time.monotonic() > heard + (patience if self._last else start)
                if code is not None or hangs or not self._goes_on(end):
                    break
                time.sleep(0.1)
            with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                if code is None and "grace" in limits:
                    process.send_signal(signal.SIGINT)
                    process.wait(0.8 * grace if self.stopped else grace)  # `timeout -k` may give ten seconds
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._new_lines()
        return (
            f"exit code {code}" if code is not None else f"no result in {min(patience, start):.0f} s" if hangs else ""
        )

    def _commands(self, stage: Stage, end: float) -> None:
        """Run commands, one after the other, with their output in a file."""
        for case in list(self._pending):
            program, *words = case.split()
            found = sys.executable if program == "python" else shutil.which(program)
            if found is None:
                self._write(stage=stage.name, case=case, not_run=f"{program} is not on the path")
            elif self._goes_on(end):
                output, _ = self._output("machine")
                why = self._watch([found, *words], self.environment, output, end, start=stage.patience)
                failed = why != "exit code 0" and not self.rehearses
                self._write(stage=stage.name, case=case, **{"error" if failed else "ended": why or "stopped"})

    def _cases(self, stage: Stage, end: float) -> None:
        """Work through cases in a process; start another one if it ends or hangs before the last."""
        wrapper: list[str] = []
        if stage.tool:
            if (program := shutil.which("compute-sanitizer")) is None:
                return self._write(stage=stage.name, not_run="compute-sanitizer is not on the path")
            wrapper = [program, "--tool", stage.tool, "--error-exitcode", "99"]
        output, begin = self._output(stage.name if stage.tool else "errors")
        given = {"command": self.command, "stage": stage.name, "file": str(self._results), "options": self.options}
        while self._pending and self._goes_on(end):
            worker = [sys.executable, "-m", "benchmarks.gpu.worker", json.dumps(given | {"cases": self._pending})]
            environment = self.environment | stage.variables
            why = self._watch([*wrapper, *worker], environment, output, end, patience=stage.patience, start=_START)
            if not self._pending or self._last.get("lost") or not why:
                continue
            if self._last:
                self._write(stage=stage.name, case=self._pending[0], error=why)
            else:
                said = _read(output, begin).strip().rpartition("\n")[2][:200]
                found = {"not_run" if stage.tool else "error": f"no process began to work: {why}; {said}"}
                return self._write(stage=stage.name, **found)
        if stage.tool:
            summaries = re.findall(r"\w+ SUMMARY: .*", _read(output, begin))
            is_clean = summaries and all(re.search(r": 0 (errors|hazards)", said) for said in summaries)
            self._write(stage=stage.name, **{"summary" if is_clean else "error": "; ".join(summaries) or "no summary"})

    def _tests(self, stage: Stage, end: float) -> None:
        """Run pytest, with its output in a file; interrupt it at the end of its time."""
        (output, begin), (environment, options) = self._output(stage.name), self.tests
        command = [sys.executable, "-m", "pytest", *self._pending, *_PYTEST.split(), str(min(os.cpu_count() or 1, 12))]
        environment = environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        why = self._watch([*command, *options], environment, output, end - GRACE, grace=GRACE)
        text = _read(output, begin)
        found = re.findall(r"^\[gw\d+\] .*?(PASSED|FAILED|ERROR|SKIPPED) (.*\S)", text, re.M)
        results = {name: result.lower() for result, name in found}
        counts = Counter(results.values())
        numbers = re.search(r"workers? \[(\d+) items\]", text), re.search(r"the ([\d,]+) kernels that tests", text)
        all_tests, compiled = (int(found[1].replace(",", "")) if found else 0 for found in numbers)
        if why not in ("", "exit code 0", "exit code 1") or not counts["passed"]:
            return self._write(stage=stage.name, error=f"pytest ran no tests: {why}; see {output.name}")
        self._pending = [f"{all_tests - len(results)} tests"] if all_tests > len(results) else []
        failed = [name for name, result in results.items() if result in ("failed", "error")][:40]
        self._write(
            stage=stage.name, case="pytest", **counts, compiled=compiled, **({"error": failed} if failed else {})
        )

    def _output(self, name: str) -> tuple[Path, int]:
        """Return the path of a file for output, and its size so far."""
        path = self.folder / f"{self.command}-{name}.txt"
        return path, path.stat().st_size if path.exists() else 0


def _read(path: Path, begin: int) -> str:
    return path.read_bytes()[begin:].decode(errors="replace")
