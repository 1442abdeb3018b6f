"""The end of a job: a rank that exits while others wait for it ends the job; if all ranks reach the end, there is no
message.
"""

import pytest

from tests.mesh.jobs import job, mpiexec

pytest.importorskip("mpi4py")

BEGIN = """
import os, signal, sys
import numpy as np
from ep.mesh import Placement, from_whole
from ep.mesh.world import world
placement = Placement(3)
rank, tensor = placement.rank, from_whole(np.arange(6.0), placement, "S(0)")
"""
ENDED = "rank 1 of 3 has ended, which ends the job: "
WAITING = "ranks 0, 2 wait for it in numpy (6,): S(0) to B"
RAISES = "rank 1 of 3 ends the job:\nTraceback (most recent call last):"

ALONE = {
    "sys.exit": ("if rank == 1: sys.exit()\ntensor.numpy()", ENDED + WAITING),
    "an exit code": ("if rank == 1: sys.exit(3)\ntensor.numpy()", ENDED + WAITING),
    "it returns": ("if rank != 1: tensor.numpy()", ENDED + WAITING),
    "a hook that is not ours": (
        "sys.excepthook = sys.__excepthook__\nif rank == 1: raise OSError('no more')\ntensor.numpy()",
        ENDED + WAITING,
    ),
    "late": (
        "tensor.numpy()\nif rank != 1: from_whole([1], placement, 'B')",
        ENDED + "ranks 0, 2 wait for it in from_whole",
    ),
    "two of three": (
        "if rank == 0: tensor.numpy()",
        "ranks 1, 2 of 3 have ended, which ends the job: rank 0 waits for them in numpy (6,): S(0) to B",
    ),
    "after an error that it caught": (
        "try: world().on_all(lambda: 1 // (rank - 1), 'the first')\n"
        "except ZeroDivisionError as error: print(error)\nif rank == 1: sys.exit()\ntensor.numpy()",
        ENDED + WAITING,
    ),
    "it raises": ("if rank == 1: raise RuntimeError('no more of this')\ntensor.numpy()", RAISES),
    "an interrupt": ("if rank == 1: signal.raise_signal(signal.SIGINT)\ntensor.numpy()", "KeyboardInterrupt"),
    "in an exchange": (
        "from ep.mesh import transport\n"
        "def fails(*_): raise UnicodeDecodeError('utf-8', b'x', 0, 1, 'in the exchange')\n"
        "if rank == 1: transport._message = fails\n"
        "try: tensor.numpy()\nexcept UnicodeError: pass\ntensor.numpy()",
        RAISES,
    ),
    "sys.exit where it is told": (
        "world().on_all(lambda: sys.exit(3) if rank == 1 else 0, 'the check')",
        "RankError: SystemExit: 3 (on rank 1)",
    ),
}


@pytest.mark.parametrize("how", ALONE)
def test_a_rank_that_others_wait_for_ends_the_job(how):
    code, words = ALONE[how]
    output = mpiexec(3, "-c", BEGIN + code, fails=True)
    assert words in output
    assert sum("ended" in line for line in output.splitlines()) == ("ended" in words)


TOGETHER = {
    "all return": "tensor.numpy()",
    "one works on": "if rank == 1: sys.exit()\nsum(range(10**6))",
    "all fail alike": (
        "try: tensor.to('S(9)')\nexcept ValueError: pass\nelse: raise AssertionError\nassert tensor.numpy().sum() == 15"
    ),
    "an error that all caught": (
        "try: world().on_all(lambda: 1 // (rank - 1), 'the first')\nexcept ZeroDivisionError: pass\ntensor.numpy()"
    ),
    "an error of one rank that nobody hears of": (
        "from ep.common.arrays.host import HostArrays\nimport ep.ops\n"
        "def fails(*_): raise MemoryError\nif rank == 1: HostArrays.destination = fails\n"
        "try: ep.ops.relu(tensor)\nexcept MemoryError: pass"
    ),
    "children that are forked": (
        # since 3.12, Python warns of any fork while threads exist
        "import warnings\nwarnings.simplefilter('ignore', DeprecationWarning)\n"
        "child = os.fork()\nif child == 0:\n"
        "    try: tensor.numpy()\n    except RuntimeError as error: assert 'has forked is not a rank' in str(error)\n"
        "    else: os._exit(1)\n"
        "    world().leave()\n    os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\ntensor.numpy()"
    ),
    "MPI is ended by hand": "tensor.numpy()\nfrom mpi4py import MPI\nMPI.Finalize()",
}


@pytest.mark.parametrize("how", TOGETHER)
def test_nothing_is_said_where_all_come_to_the_end(how):
    output = mpiexec(3, "-c", f"{BEGIN}{TOGETHER[how]}\nprint('over')")
    assert output.count("over") == (2 if how == "one works on" else 3)
    assert not output.replace("over", "").strip()


def test_the_exit_code_of_a_program_stays():
    code, output = job(3, "-c", BEGIN + "tensor.numpy()\nsys.exit(5 if rank == 1 else 0)")
    assert (code, output) == (5, "")


def test_what_was_printed_is_there_though_the_job_ends():
    # one write for each line, also if Python does not buffer: the launcher interleaves the writes of ranks
    code = "sys.stdout.write(f'rank {rank} was here\\n')\nif rank != 1: tensor.numpy()"
    output = mpiexec(3, "-c", BEGIN + code, fails=True)
    assert {f"rank {rank} was here" for rank in range(3)} <= set(output.splitlines())


def test_the_last_words_are_there_though_the_launcher_is_slow():
    """If MPICH's launcher learns of output and of the end of a rank at once, it ends the ranks before it reads their
    output.
    """
    code = (
        "import subprocess\nlauncher = os.getppid()\n"
        "if rank == 1:\n"
        "    os.kill(launcher, signal.SIGSTOP)\n"
        "    subprocess.Popen(['sh', '-c', f'sleep 0.5; kill -CONT {launcher}'])\n"
        "    raise RuntimeError('the last words')\n"
        "tensor.numpy()"
    )
    for _ in range(3):
        assert "RuntimeError: the last words" in mpiexec(3, "-c", BEGIN + code, fails=True)
