"""The processes of a job, as MPI has them, and what becomes of an error on one of them.

This alone imports mpi4py, when it is first used: importing it starts MPI.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from functools import cache
from types import TracebackType
from typing import Any, TypeVar

from ep.include.process import exclusively

T = TypeVar("T")


@cache
def mpi() -> Any:
    """The module `mpi4py.MPI`; ImportError, which says what to install, where it does not load."""
    try:
        return exclusively(_import_mpi)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"tensors on a mesh need {error.name}: pip install 'ep[mpi]'", name=error.name
        ) from error
    except (ImportError, RuntimeError) as error:  # mpi4py is there, and a library of MPI is not
        raise ImportError(f"mpi4py finds no library of MPI ({error}): pip install 'ep[mpi]'") from error


def _import_mpi() -> Any:
    from mpi4py import MPI

    return MPI


@cache
def world() -> Any:
    """The communicator of all processes of the job, this package's own.

    From now on, an exception that is not caught ends the whole job: the other ranks would wait for this one.
    """
    every = mpi().COMM_WORLD.Dup()
    if every.size > 1:
        sys.excepthook = _ends_job
    return every


def _ends_job(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an exception that nobody caught, in one piece and with the rank, and end the job."""
    text = "".join(traceback.format_exception(kind, error, trace))
    sys.stderr.write(f"rank {world().rank} of {world().size} ends the job:\n{text}")
    sys.stderr.flush()
    mpi().COMM_WORLD.Abort(1)


def on_all(function: Callable[[], T]) -> T:
    """Return what a function returns on this rank; where it raises on any rank, raise that on all.

    The error of the first rank that has one; others name the rank. Every rank must call it.
    """
    result, mine = None, None
    try:
        result = function()
    except Exception as error:
        mine = error
    told = world().allgather(None if mine is None else (type(mine), str(mine)))
    first = next((rank for rank, one in enumerate(told) if one is not None), None)
    if first is None:
        return result  # type: ignore[return-value]  # no rank has an error, so this one has a result
    if mine is not None and first == world().rank:
        raise mine
    kind, text = told[first]
    raise kind(f"{text} (on rank {first})") from mine
