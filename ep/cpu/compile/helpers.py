"""Processes that do LLVM's part of compilations: each runs `llvm.py`, gets jobs by a pipe, and answers with code."""

from __future__ import annotations

import marshal
import os
import sys
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from subprocess import DEVNULL, PIPE, Popen
from threading import Thread
from typing import Any, Final

import llvmlite

from ep.cpu.compile import llvm
from ep.include.process.stacks import start_thread

_MOST_STARTS: Final = 2
"""A process is started again if it was killed, but not if none can be started, or each ends at once."""


class Helpers:
    """Some processes that share jobs."""

    def __init__(self, number: int) -> None:
        """number: of processes. There are fewer if the system has no more threads, and none without a Python to run."""
        self._jobs = SimpleQueue[Any]()
        self._processes, self._is_ended = list[Any](), False
        self._threads = list[Thread]()
        with suppress(RuntimeError):
            for _ in range(number if _may_run() else 0):
                self._threads.append(start_thread(self._run, name="ep compilation"))

    def end(self) -> None:
        """End the processes, whatever they do: what they compile is None."""
        self._is_ended = True
        for process in [*self._processes]:
            process.kill()
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def submit(self, job: llvm.Job) -> Future[bytes | None]:
        """Have a process compile a job, after those before it; return the machine code to come: None if none does."""
        code = Future[bytes | None]()
        if self._threads:
            self._jobs.put((job, code))
        else:
            code.set_result(None)
        return code

    def _run(self) -> None:
        """Hand jobs to a process, and wait for its answers."""
        process, starts = None, 0
        for job, code in iter(self._jobs.get, None):
            if process is None and starts < _MOST_STARTS:
                starts += 1
                process = self._started()
            answer = None if process is None or self._is_ended else _answer(process, job)
            if process is not None and answer is None:
                _ended(process)
                process = None
            code.set_result(answer)
        if process is not None:
            _ended(process)

    def _started(self) -> Any:
        """Return a new process, or None. No variable of the environment and no package of the user changes what it
        runs."""
        folder, parent = str(Path(llvmlite.__file__).parents[1]), str(os.getpid())
        command = [sys.executable, "-I", "-S", llvm.__file__, folder, parent]
        try:
            process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
        except OSError:
            return None
        self._processes.append(process)
        return process


def _may_run() -> bool:
    """Return whether `sys.executable` is a Python: that of a frozen or embedding program would run the program."""
    name = os.path.basename(sys.executable or "").lower()
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)


def _answer(process: Any, job: llvm.Job) -> bytes | None:
    try:
        given: Any = (tuple(job.machine), *job[1:])  # in types that marshal knows
        marshal.dump(given, process.stdin)
        process.stdin.flush()
        answer = marshal.load(process.stdout)
    except (OSError, EOFError, ValueError, TypeError):  # it was killed, or is no Python
        return None
    return answer if isinstance(answer, bytes) else None


def _ended(process: Any) -> None:
    """End a process."""
    process.kill()
    process.wait()
    process.stdout.close()
    try:
        process.stdin.close()
    except OSError:  # a part of a job was still to be written
        return
