"""Runs the demo and the tests with each Python found, and with the lowest versions promised: `python -m tools.matrix`.

Each environment is made with `pip install -e ".[test]"`, by the pip of the Python that runs this, since Debian's has
none for environments. Pythons are searched for on the path and in pyenv's folder. Those that are no
position-independent executables, as Debian's and Ubuntu's, have environments of their own, such as `3.11-fixed`: their
heap and static objects have low addresses. The environment `lowest` has the oldest Python of `requires-python`, and
each requirement of pyproject.toml at its lower bound. The environment `debian` has the Python of Debian unstable, which
debootstrap installs into a folder, where root runs this; those such as `debian-3.15` have its newer ones. Without
numba-cuda, which lacks wheels for some versions, an environment has no CUDA device, and its steps are not run. The exit
code is 1 if a step failed or nothing was run, or if two environments with the same compilers have different files of
CUDA kernels.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from tools.commit import commit
from tools.pythons import DEBIAN, FIXED, ROOT, Interpreter, ask, candidates, choose, of_debian

LOWEST: Final = "lowest"
EXTRAS: Final = ("cuda", "test")
"""The extras whose lower bounds are tested; the peers of `bench` are used only in comparisons."""

NEWEST: Final = ("numpy", "numba", "numba-cuda[cu13]; python_version < '3.15'", "ml_dtypes")
"""The packages of which `--pre` installs the newest version, regardless of the upper bounds in pyproject.toml."""

QUICK: Final = (
    *("ep/testing", "tests/include", "tests/primitive/test_coverage.py", "tests/primitive/test_sizes.py"),
    *("tests/ops/test_dlpack.py", "tests/ops/test_worked_examples.py"),
    *("tests/cli/test_run.py", "tests/cpu/test_object_layout.py", "tests/cpu/test_code.py", "tests/cpu/test_places.py"),
    *("tests/cuda/test_absent.py", "tests/cuda/test_kernels_on_disk.py", "tests/onnx/test_addresses.py"),
    *("tests/onnx/test_kept_once.py", "tests/onnx/test_plans.py", "tests/onnx/test_stored.py"),
    "-k",
    "not (test_every_key or test_broadcast_elementwise or test_elementwise_unary.py or test_expand.py"
    " or test_gather.py or test_cast.py or test_where.py or test_one_hot.py or test_add.py or test_permute.py"
    " or test_constant_pad.py or test_copy_nd.py or test_code.py or test_places.py) or kGelu or zero_sizes"
    " or test_every_key and kFloat and (kInt64 or kAdd or test_expand.py or test_add.py or test_fill.py"
    " or test_permute.py or test_constant_pad.py or test_copy_nd.py)",
)
"""Arguments of pytest for a short run: a few keys of each primitive, and all tests that versions can influence."""

QUICK_ON_CUDA: Final = (
    *("ep/testing/device_layer", "ep/testing/primitive/test_gather.py", "ep/testing/primitive/test_softmax.py"),
    *("tests/cuda/test_known_launches.py", "tests/cuda/test_kernels_on_disk.py", "tests/ops/test_dlpack.py"),
    "-k",
    "not test_every_key",
)
"""The same of the CUDA device, between the lowest versions and the newest Python: what the host's code depends on."""


@dataclass
class Row:
    """The results in one environment.

    results: by column. seconds: by step. files: of CUDA kernels on disk, with the folder that the versions of compilers
    have.
    """

    name: str
    results: dict[str, str] = field(default_factory=dict)
    failed: bool = False
    seconds: dict[str, float] = field(default_factory=dict)
    files: frozenset[str] = frozenset()


# The requirements


def oldest_python(project: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the lower bound of `requires-python`."""
    return tuple(map(int, re.findall(r"\d+", project["requires-python"])))


def constraints(project: Mapping[str, Any]) -> list[str]:
    """Return each requirement of the package and its extras at its lower bound, as pip's constraints."""
    extras = project["optional-dependencies"]
    requirements = [*project["dependencies"], *(one for extra in EXTRAS for one in extras[extra])]
    lines = []
    for requirement in requirements:  # the list grows during the loop, by the extras that an extra includes
        name, inner, _, bound = re.match(r"([\w.-]+)(\[[^]]*\])?\s*(>=\s*([\w.]+))?", requirement).groups()  # type: ignore[union-attr]
        if name == project["name"]:
            included = set(inner.strip("[]").split(",")) - set(EXTRAS)
            requirements += (one for extra in sorted(included) for one in extras[extra])
            continue
        if bound is None:
            raise ValueError(f"{requirement!r} in pyproject.toml has no lower bound")
        lines.append(f"{name}=={bound}")
    return lines


# The steps


class Environment:
    """An environment in the folder `folder`, and what its steps have given.

    workers: the processes of one run of tests.
    """

    def __init__(self, name: str, python: Interpreter, folder: Path, arguments: argparse.Namespace, workers: int):
        self.row = Row(name)
        self._python, self._folder, self._pre = python, folder, arguments.pre
        self._own = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
        self._quick = QUICK if arguments.quick else ()
        whole = name in (arguments.whole or ())
        self._quick_on_cpu = () if whole else self._quick
        self._quick_on_cuda = self._quick if whole or name == LOWEST or not self._quick else QUICK_ON_CUDA
        options = "-q", "-n", str(workers), "--ep-turn", f"{commit()}-{name}"  # others have other cases
        self._tests = [self._own, "-m", "pytest", *options]
        self._log = folder.with_name(f"{folder.name}.log")
        self._variables = {**os.environ, "EP_CACHE_DIR": f"{folder}.cache", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        for name in ("PYTHONPATH", "NUMBA_ENABLE_CUDASIM", "PYTHONDONTWRITEBYTECODE"):
            self._variables.pop(name, None)

    def make(self) -> list[Callable[[], str]]:
        """Make the environment, or use the existing one, and run the demo; return the runs of tests.

        The runs of one environment may overlap.
        """
        own, python = self._own, self._python
        pip = [*([own, "-m", "pip"] if python.inside else [sys.executable, "-m", "pip", "--python", own]), "install"]
        limits: tuple[str, ...] = ()
        if self.row.name == LOWEST:
            file = self._folder.with_name(f"{self._folder.name}.constraints")
            file.write_text("\n".join(constraints(_project())))
            limits = "-c", str(file)
        self._log.unlink(missing_ok=True)
        without_pip = [] if python.inside else ["--without-pip"]
        steps = [
            ("environment", [python.path, "-m", "venv", *without_pip, str(self._folder)]),
            # imports compile the modules that they need: few of those of NumPy and SciPy
            ("install", [*pip, "-q", "--no-compile", "-e", ".[test]", *limits]),
            *([("newest", [*pip, "-q", "--pre", "--upgrade", *NEWEST])] if self._pre else []),
        ]
        for step, command in steps:
            with _INSTALLING if step == "install" else nullcontext():
                self._run(step, command)
            if self.row.failed:
                return []
        self.row.results |= _versions(own, python.inside)
        if "numba-cuda" in self.row.results:
            self.row.files = frozenset(self._run("kernel files", [own, "-m", "tools.ptx_table", "--files"]).split())
        self._run("demo", [own, "-m", "ep", "demo"])
        runs = [partial(self._run, "CPU tests", [*self._tests, *self._quick_on_cpu])]
        if "numba-cuda" in self.row.results:
            runs.append(partial(self._run, "PTX tests", [*self._tests, *self._quick_on_cuda, "--ep-device", "cuda"]))
        return runs

    def _run(self, step: str, command: Sequence[str]) -> str:
        """Run a step, and note its outcome; return what it wrote to stdout."""
        started, row = time.perf_counter(), self.row
        command = [*self._python.inside, *command]
        done = subprocess.run(command, cwd=ROOT, env=self._variables, text=True, capture_output=True, check=False)
        output = done.stdout + done.stderr
        with self._log.open("a") as log:
            log.write(f"+ {' '.join(command)}\n{output}\n")
        row.results[step] = outcome(output, done.returncode)
        row.seconds[step] = time.perf_counter() - started
        print(f"{row.name}: {step}: {row.results[step]}", flush=True)
        if done.returncode:
            print(*output.splitlines()[-_TAIL:], sep="\n", flush=True)
            row.failed = True
        return done.stdout


def run_all(environments: Iterable[Environment], jobs: int) -> None:
    """Make the environments, and run their tests, with `jobs` steps at a time; those of the first ones come first."""
    with ThreadPoolExecutor(jobs) as pool:
        made = [pool.submit(environment.make) for environment in environments]
        running = [pool.submit(tests) for one in made for tests in one.result()]
        for tests in running:
            tests.result()


_INSTALLING: Final = threading.Lock()  # setuptools writes into the source tree
_TAIL: Final = 60  # lines of the output of a failed step that are shown
_VERSIONS: Final = """
import platform
from importlib.metadata import distributions, version
cuda = (one.version for one in distributions(name="numba-cuda"))
print(platform.python_version(), *map(version, ("numpy", "numba")), *cuda)
"""


def _versions(python: str, inside: tuple[str, ...]) -> dict[str, str]:
    done = subprocess.run([*inside, python, "-c", _VERSIONS], capture_output=True, text=True, check=False, cwd=ROOT)
    return dict(zip(("Python", "NumPy", "Numba", "numba-cuda"), done.stdout.split(), strict=False))


def outcome(output: str, code: int) -> str:
    """Return the table cell of a step: the counts of pytest, if any, and whether the step failed."""
    counted = re.findall(r"^=* ?(\d+ (?:passed|failed|skipped|error).*?)(?: in [\d.]+s.*)?$", output, re.MULTILINE)
    said = re.sub(r", \d+ (?:deselected|warnings?)", "", counted[-1]) if counted else "ok"
    return said if code == 0 else f"FAILED: {said if counted else f'exit code {code}'}"


def differing(rows: Iterable[Row]) -> list[str]:
    """Return a line for each environment that has other kernel files than an earlier one with the same folder."""
    first: dict[str, Row] = {}
    lines = []
    for row in rows:
        for folder in {file.partition("/")[0] for file in row.files}:
            earlier = first.setdefault(folder, row)
            if different := row.files ^ earlier.files:
                lines.append(f"{row.name}: {len(different):,} kernel files differ from those of {earlier.name}")
    return lines


# The report

COLUMNS: Final = ("Python", "NumPy", "Numba", "numba-cuda", "demo", "CPU tests", "PTX tests")


def table(rows: Sequence[Row]) -> str:
    """Return a table in Markdown; "not run" if an earlier step failed."""
    lines = [
        ["environment", *COLUMNS, "seconds"],
        *(
            [row.name, *(row.results.get(c, "not run") for c in COLUMNS), f"{sum(row.seconds.values()):.0f}"]
            for row in rows
        ),
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(map(str.ljust, line, widths))} |" for line in lines)


def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.matrix", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--quick", action="store_true", help="run a small part of the tests")
    parser.add_argument(
        "--whole",
        action="append",
        metavar="NAME",
        help="an environment that runs all tests of the CPU device though --quick; repeat",
    )
    parser.add_argument(
        "--pre", action="store_true", help=f"with the newest release or pre-release of {', '.join(NEWEST)}"
    )
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="an environment, such as 3.12 or lowest; repeat"
    )
    parser.add_argument(
        "--others", action="store_true", help=f"leave out the Pythons that run this and {LOWEST}, if there are more"
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="make environments here, or use those that are here"
    )
    return parser.parse_args(arguments)


def plan(
    found: Mapping[str, Interpreter], arguments: argparse.Namespace, oldest: tuple[int, ...]
) -> dict[str, Interpreter]:
    """Return the environments to run, by name, with their Pythons."""
    plan = {name: python for name, python in found.items() if not python.free_threaded}
    first = ".".join(map(str, oldest))
    if not arguments.pre and (of_oldest := plan.get(first) or plan.get(first + FIXED)):
        plan[LOWEST] = of_oldest
    if arguments.others and len(plan) > 1 and (this := ask(sys.executable)):
        for python in (this, plan.get(LOWEST, this)):
            plan.pop(python.name, None)
    return {name: python for name, python in plan.items() if arguments.only is None or name in arguments.only}


def main(command_line: Sequence[str] | None = None) -> int:
    """Run the environments, and print the table; return the exit code."""
    arguments, oldest = _arguments(command_line), oldest_python(_project())
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = choose(filter(None, map(ask, candidates(os.environ.get("PATH", ""), pyenv))), oldest)
    folder = (arguments.keep or Path(tempfile.mkdtemp(prefix="ep-matrix-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)  # a test runs the package as another user
    try:
        if arguments.only is None or any(name.startswith(DEBIAN) for name in arguments.only):
            found |= of_debian(folder)
        for name, python in found.items():
            print(f"{name}: {python.path}{', which is free-threaded and refused' * python.free_threaded}", flush=True)
        planned = plan(found, arguments, oldest)
        missing = sorted({*(arguments.only or ()), *(arguments.whole or ())} - set(planned))
        if missing or not planned:
            print(f"{', '.join(missing) or 'no Python'}: not found, and nothing was run", file=sys.stderr)
            return 1
        if LOWEST not in planned:
            print(f"{LOWEST}: not run")
        cores = os.cpu_count() or 1
        jobs = min(len(planned), cores)  # installing takes one core
        longest_first = sorted(planned.items(), key=lambda item: item[0] not in (arguments.whole or ()))
        environments = [
            Environment(name, python, folder / f"{name}{'-pre' * arguments.pre}", arguments, cores // jobs)
            for name, python in longest_first
        ]
        run_all(environments, jobs)
    finally:
        if arguments.keep is None:
            shutil.rmtree(folder)
    rows = [one.row for one in environments]
    print(f"\n{table(rows)}")
    different = differing(rows)
    for line in different:
        print(line)
    return int(any(row.failed for row in rows) or bool(different))


if __name__ == "__main__":
    raise SystemExit(main())
