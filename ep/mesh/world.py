"""The processes of an MPI job, synchronised: every rank learns of an error on another rank, or of its end.

Only this module imports mpi4py, on first use: importing it starts MPI.
"""

from __future__ import annotations

import atexit
import os
import pickle
import sys
import traceback
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from types import TracebackType
from typing import Any, Final, NamedTuple, NoReturn, TypeVar

import numpy as np

from ep.include.process import exclusively
from ep.mesh.errors import RankError, Told, told
from ep.mesh.printed import flush, hand_over
from ep.version import installs

S = TypeVar("S")
T = TypeVar("T")

_THE_END: Final = "the end of the program"
"""The name of the meeting at the end of the program."""


@cache
def mpi() -> Any:
    """Return the module `mpi4py.MPI`; ImportError, with the package to install, if it does not load."""
    try:
        return exclusively(_import_mpi)
    except ModuleNotFoundError as error:
        missing = f"tensors on a mesh need {error.name}: {installs('mpi')}"
        raise ModuleNotFoundError(missing, name=error.name) from error
    except (ImportError, RuntimeError) as error:  # mpi4py is installed, but no MPI library is
        raise ImportError(f"mpi4py finds no library of MPI ({error}): {installs('mpi')}") from error


def _import_mpi() -> Any:
    from mpi4py import MPI

    return MPI


@cache
def world() -> World:
    """Return all processes of the job.

    From then on, an exception that is not caught ends the whole job, and so does the end of a rank that others wait
    for.
    """
    every = World(mpi().COMM_WORLD.Dup())
    if every.size > 1:
        sys.excepthook = every.end_by
        atexit.register(every.leave)
    return every


class World:
    """All processes of a job, which do the same things in the same order.

    Before ranks exchange data, all of them meet: each rank sends a few numbers, from which every rank learns whether
    all do the same thing next. If one has failed, all raise its error. If one has ended, the job ends, since others
    wait for it. Work that may fail on one rank alone is therefore done before a meeting. An error in the exchange after
    it ends the job.
    """

    def __init__(self, comm: Any) -> None:
        """comm: the communicator of all ranks, used by nothing else."""
        self.comm, self.size, self.rank = comm, int(comm.size), int(comm.rank)
        self._process = os.getpid()
        self._mine, self._most = np.zeros((2, 4), np.int64)
        self._doing = "an exchange"
        self._is_told = False

    def on_all(self, function: Callable[[], T], what: str) -> T:
        """Return the result of a function on this rank; if it raises on any rank, raise that error on all.

        what: a description of the work, the same on all ranks.

        The error is that of the first rank that has one; on other ranks it names that rank. A rank that has an error of
        the same class raises its own. Every rank must call it.
        """
        result, error = None, None
        try:
            result = function()
        except BaseException as raised:
            error = raised
        self._meet(what, error)
        return result  # type: ignore[return-value]  # no rank has an error, so this one has a result

    def collectively(self, prepare: Callable[[], S], exchange: Callable[[S], T], what: str = "") -> T:
        """Return the result of `exchange`, an operation of MPI, called with the result of `prepare`.

        what: as in `on_all`; by default, the description of this rank's current work.

        Errors of `prepare` are raised on all ranks, as in `on_all`.
        """
        ready = self.on_all(prepare, what or self._doing)
        try:
            return exchange(ready)
        except BaseException as error:
            if self.size > 1:  # other ranks are in the exchange, and cannot receive the error
                self.end_by(type(error), error, error.__traceback__)
            raise

    def from_all(self, function: Callable[[], T], what: str) -> list[T]:
        """Return the results of a function on all ranks, in order; raise on all ranks if it raises on any."""
        pickled = self.collectively(lambda: pickle.dumps(function()), self.comm.allgather, what)
        return [pickle.loads(one) for one in pickled]

    def split(self, color: int, key: int) -> Any:
        """Return the communicator of the ranks that give the same color, ordered by key. Every rank must call it."""
        return self.collectively(lambda: None, lambda _: self.comm.Split(color, key), "Placement")

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Wrap work of each rank by itself, which may contain exchanges: an error in it is raised on all ranks.

        The other ranks raise it at their next meeting; until then this rank waits for them. what: a description of the
        work.
        """
        before, self._doing, self._is_told = self._doing, what, False
        try:
            yield
        except BaseException as error:
            if not self._is_told:
                self._meet(what, error)
            raise
        finally:
            self._doing = before

    def leave(self) -> None:
        """Meet the other ranks at the end of the program; end the job if some of them go on and wait for this rank."""
        if os.getpid() != self._process or mpi().Is_finalized():
            return
        flush()
        over = False
        while not over:
            with suppress(Exception):  # errors of ranks that go on
                self._meet(_THE_END, None)
                over = True

    def end_by(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Print an uncaught exception, in one piece and with the rank, and end the job."""
        if os.getpid() != self._process:
            sys.__excepthook__(kind, error, trace)
        else:
            text = "".join(traceback.format_exception(kind, error, trace))
            self._end(f"rank {self.rank} of {self.size} ends the job:\n{text}")

    def _meet(self, what: str, error: BaseException | None) -> None:
        """Wait until all ranks have come to the same point without an error; else raise, or end the job."""
        if os.getpid() != self._process:
            raise RuntimeError(
                f"a process that rank {self.rank} has forked is not a rank of the job, and cannot do {what}"
            )
        if self.size == 1:
            if error is not None:
                raise error
            return
        try:
            every = self._met(what, error)
        except BaseException as failed:  # no rank knows of the error, and others wait already
            self.end_by(type(failed), failed, failed.__traceback__)
            raise
        self._is_told = bool(every)
        if every:
            self._stop(every, error)

    def _met(self, what: str, error: BaseException | None) -> list[_Word]:
        """Return the words of all ranks if anything keeps them from going on, else an empty list."""
        word = zlib.crc32(what.encode())
        self._mine[:] = word, -word, error is not None, what == _THE_END
        self.comm.Allreduce(self._mine, self._most, mpi().MAX)
        most, least, is_failed, is_end = self._most.tolist()
        if most == -least and not is_failed:
            return []
        if is_end:
            hand_over()  # on all ranks, before one of them ends the job
        every: list[_Word] = self.comm.allgather(_Word(what, None if error is None else told(error, self.rank)))
        return every

    def _stop(self, every: list[_Word], error: BaseException | None) -> NoReturn:
        """Raise the first error on all ranks, or end the job if some ranks wait for others."""
        first = next((word.error for word in every if word.error is not None), None)
        if first is not None:
            mine = every[self.rank].error
            if error is not None and mine is not None and mine.kind == first.kind:
                raise error
            raise first.rebuilt() from error
        ended = [rank for rank, word in enumerate(every) if word.what == _THE_END]
        if not ended:
            raise RankError(f"the ranks are not in step: {_places(every, 'is', 'are')}")
        have, them = ("has", "it") if len(ended) == 1 else ("have", "them")
        if self.rank == ended[0]:
            waiting = _places(every, f"waits for {them}", f"wait for {them}")
            self._end(f"{_named(ended)} of {self.size} {have} ended, which ends the job: {waiting}\n")
        with suppress(Exception):
            self.comm.Barrier()  # wait until the rank that ends the job is gone, since its message is more precise
        self._end("")

    def _end(self, words: str) -> NoReturn:
        """Write words to stderr and end the job."""
        sys.stderr.write(words)
        hand_over()
        mpi().COMM_WORLD.Abort(1)
        os._exit(1)  # on some platforms Abort returns before the process is ended


class _Word(NamedTuple):
    """The message of a rank at a meeting: its next work, and its error."""

    what: str
    error: Told | None


def _places(every: list[_Word], one: str, several: str) -> str:
    """Return a text that names the work of each rank that has not ended."""
    at: dict[str, list[int]] = {}
    for rank, word in enumerate(every):
        if word.what != _THE_END:
            at.setdefault(word.what, []).append(rank)
    return ", ".join(f"{_named(ranks)} {several if len(ranks) > 1 else one} in {what}" for what, ranks in at.items())


def _named(ranks: list[int]) -> str:
    return f"rank {ranks[0]}" if len(ranks) == 1 else f"ranks {', '.join(map(str, ranks))}"
