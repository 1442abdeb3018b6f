"""Failing ranks of a job, one at a time: errors of any class, interrupts and exits, in all functions of ranks.

Each rank ends in time, and every other rank gets the error, or the job ends.
"""

import json
import os
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from tests.mesh.jobs import job
from tests.stress.draw import chance, pick
from tests.stress.ranks_program import ERRORS, INSIDE, OUTSIDE, STEPS, WHOLE

FRESH, SECONDS, DEVICES = False, 600, ("cpu",) if find_spec("mpi4py") else ()

JOB_SECONDS = 500


def trial(rng, tag):
    ranks, steps = int(rng.integers(2, 5)), [pick(rng, [*STEPS]) for _ in range(int(rng.integers(1, 6)))]
    plan = {
        "steps": [*steps, "add"],  # so that the ranks synchronise after any failure
        "step": int(rng.integers(len(steps))),
        "rank": int(rng.integers(ranks)),
        "place": pick(rng, [*INSIDE, *INSIDE, *OUTSIDE]),
        "error": pick(rng, [*ERRORS]),
        "code": pick(rng, (None, 0, 3, "the end")),
        "catches": chance(rng, 0.5),
    }
    with tempfile.TemporaryDirectory(prefix="ep-stress-ranks-") as folder:
        np.save(Path(folder, "x.npy"), WHOLE)
        try:
            given = json.dumps(plan | {"folder": folder})
            code, output = job(ranks, "-m", "tests.stress.ranks_program", given, seconds=JOB_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise AssertionError(f"{plan}: {ranks} ranks hang for {JOB_SECONDS} s:\n{error.stdout}") from error
        read = {name: json.loads(Path(folder, name).read_text()) for name in os.listdir(folder) if name[-4:] == "json"}
    fired = read.pop("fired.json", None)
    became = [read.get(f"{rank}.json", []) for rank in range(ranks)]
    why = wrong(plan, ranks, fired, code, output, became)
    if why:
        raise AssertionError(f"{why}\n{ranks} ranks, {plan}, which raised {fired}: {became}\n{code}: {output}")


def wrong(plan, ranks, fired, code, output, became):
    """Return a description of the failure, "" if there is none."""
    kind, text = fired or ("", "")
    this = f"rank {plan['rank']} of {ranks}"
    if fired is None or (plan["place"] not in ("an exchange", *OUTSIDE) and plan["catches"] and kind != "SystemExit"):
        if code or output:
            return "the job ended with a code, or said something"
        if any(len(one) != len(plan["steps"]) for one in became):
            return "a rank did not do all steps"
        told = [[step for step in one if step] for one in became]
        if fired is None:
            return "a rank had an error, and there was none" if any(told) else ""
        own = told.pop(plan["rank"])
        if not own or any(kind not in step or text not in step for step in own):
            return "the rank itself had another error"
        words = f"(on rank {plan['rank']})"
        if not all(len(one) == 1 and words in one[0] and text in one[0] for one in told):
            return "a rank was not told of the error, or not once"
        return ""
    if not code:
        return "the job ended as if nothing had gone wrong"
    if kind == "SystemExit":
        words = f"{this} has ended", f"SystemExit: {text}"
        return "" if any(one in output for one in words) else "nobody said that the rank had ended"
    if plan["catches"] and plan["place"] in OUTSIDE:  # the rank is one step ahead, and ends first
        return "" if f"{this} has ended" in output else "nobody said that the rank had ended"
    if kind not in output or text not in output or (this not in output and f"(on rank {plan['rank']})" not in output):
        return "nobody said why the job ended"
    return ""
