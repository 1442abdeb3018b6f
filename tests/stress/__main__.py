"""`python -m tests.stress`: random trials for a given time."""

import argparse
import itertools
import secrets
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.stress.runner import KINDS, Outcome, is_for, run, summary

FOR_EVER = 2**40


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tests.stress", description="Treats the package badly, at random.")
    parser.add_argument("--seed", type=int, help="what all random choices depend on; random by default")
    parser.add_argument("--seconds", type=float, default=120, help="for how long, all kinds together (%(default)s)")
    parser.add_argument("--only", action="append", choices=KINDS, help="trials of this kind alone; may be repeated")
    parser.add_argument("--processes", type=int, default=1, help="how many trials are done at once (%(default)s)")
    parser.add_argument("--device", default="cpu", metavar="TAG", help="on which type of device (%(default)s)")
    parser.add_argument("--trial", type=int, metavar="N", help="do the trial N of one kind, and no other")
    asked = parser.parse_args()
    if asked.trial is not None and len(asked.only or ()) != 1:
        parser.error("--trial needs one kind: --only KIND")
    return asked


def main() -> int:
    asked = options()
    seed = secrets.randbelow(2**32) if asked.seed is None else asked.seed
    kinds = [kind for kind in asked.only or KINDS if is_for(kind, asked.device)]
    print(f"seed {seed}, {asked.seconds:g} s on {asked.device}: {', '.join(kinds)}", flush=True)
    if not kinds:
        return 1
    outcomes = {kind: Outcome() for kind in kinds}
    if asked.trial is not None:
        parts = [(kinds[0], asked.trial, 1, 1, FOR_EVER)]
    else:
        share = asked.seconds / len(kinds)
        parts = [
            (kind, first, asked.processes, FOR_EVER, share)
            for kind, first in itertools.product(kinds, range(asked.processes))
        ]
    with ThreadPoolExecutor(asked.processes) as pool:
        results = pool.map(lambda part: run(part[0], asked.device, seed, *part[1:]), parts)
        for part, outcome in zip(parts, results, strict=True):
            outcomes[part[0]].add(outcome)
            for failure in outcome.failures:
                print(f"\n{failure}", flush=True)
    print(f"\n{summary(outcomes)}")
    failed = any(outcome.failures for outcome in outcomes.values())
    return 1 if failed or not all(outcome.trials for outcome in outcomes.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
