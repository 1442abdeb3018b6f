"""The process that runs trials, one after the other: `python -m tests.stress.worker`, started by `runner.py`.

It writes each trial to a file when the trial begins and when it ends: a trial that began and did not end has crashed.
"""

import faulthandler
import json
import sys
import time
import traceback
import zlib
from importlib import import_module
from pathlib import Path

import numpy as np

from tests.devices import prepare


def numbers(seed: int, kind: str, number: int) -> np.random.Generator:
    """Return the random generator of a trial."""
    return np.random.default_rng([seed, zlib.crc32(kind.encode()), number])


def main(kind: str, tag: str, seed: int, first: int, step: int, count: int, seconds: float, report: str) -> None:
    """Run trials `first`, `first + step`, ..., at most `count` of them; none begins after `seconds`."""
    prepare(tag)
    module = import_module(f"tests.stress.{kind}")
    end = time.monotonic() + seconds
    with Path(report).open("a", buffering=1) as lines:
        for number in range(first, first + step * count, step):
            lines.write(json.dumps({"begun": number}) + "\n")
            print(f"trial {number}", flush=True)
            faulthandler.dump_traceback_later(module.SECONDS, exit=True)
            failure = growth = None
            try:
                growth = module.trial(numbers(seed, kind, number), tag)
            except BaseException:
                failure = traceback.format_exc()
            faulthandler.cancel_dump_traceback_later()
            lines.write(json.dumps({"over": number, "failure": failure, "growth": growth}) + "\n")
            if time.monotonic() > end:
                break


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
