"""The scheduling of this process's threads: their processors, and how long they waited for one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

_TASKS: Final = Path("/proc/self/task")
_STEAL: Final = 8  # the field of /proc/stat: ticks that the host took from this machine
_PROCESSOR: Final = 36  # the field of a thread's stat, after its name, with its last processor
_AT_WORK: Final = 50_000  # nanoseconds; a thread that ran for less has only looked for work


class Threads(NamedTuple):
    """For each thread: nanoseconds run, nanoseconds ready without a processor, its last processor; and steal time."""

    threads: Mapping[str, tuple[int, int, int]]
    steal: int

    @classmethod
    def now(cls) -> Threads:
        """Read the scheduling from /proc; without threads if /proc does not have it."""
        found = {}
        for task in _TASKS.iterdir() if _TASKS.exists() else ():
            try:
                ran, waited, _ = map(int, (task / "schedstat").read_text().split())
                processor = int((task / "stat").read_text().rpartition(")")[2].split()[_PROCESSOR])
            except OSError:  # the thread has just ended
                continue
            found[task.name] = ran, waited, processor
        steal = int(Path("/proc/stat").read_text().split(maxsplit=_STEAL + 1)[_STEAL]) if found else 0
        return cls(found, steal)

    def until(self, later: Threads) -> Scheduled:
        """Return the scheduling between two readings."""
        at_work = [
            (waited - self.threads[name][1], processor)
            for name, (ran, waited, processor) in later.threads.items()
            if name in self.threads and ran - self.threads[name][0] > _AT_WORK
        ]
        processors = {processor for _, processor in at_work}
        waited = sum(delay for delay, _ in at_work)
        return Scheduled(len(at_work), len(processors), waited / 1e9, later.steal > self.steal)


class Scheduled(NamedTuple):
    """The number of threads that worked and of processors on which they ended, the seconds that they waited, and
    whether the host took a processor away meanwhile."""

    threads: int
    processors: int
    waited: float
    stolen: bool
