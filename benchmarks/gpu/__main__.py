"""`python -m benchmarks.gpu`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

from benchmarks.gpu.plan import COMMANDS
from benchmarks.gpu.run import ROOT, Run
from tools.search_paths import extended

_COMPILE = "compile"
_BUILD = "import sys, pathlib, tests.cuda.stub as stub; stub.build(pathlib.Path(sys.argv[1]))"


def main() -> int:
    """Run a command; return the exit status."""
    begun = time.monotonic()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu")
    parser.add_argument("command", choices=(*COMMANDS, _COMPILE))
    parser.add_argument("folder", type=Path, nargs="?", help="of the files that the command writes; none to compile")
    parser.add_argument("--site", type=Path, metavar="ARCHIVE", help="a tar file of packages for Python to use")
    parser.add_argument("--rehearse", action="store_true", help="without a GPU, on a driver that computes nothing")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose name STAGE: CASE contains a match")
    given = parser.parse_args()
    if (given.folder is None) != (given.command == _COMPILE):
        parser.error(f"{given.command} {'needs a' if given.folder is None else 'has no'} folder")
    packages = [unpacked(given.site)] if given.site else []
    environment = os.environ | {"PYTHONPATH": extended("PYTHONPATH", *packages, ROOT), "PYTHONUNBUFFERED": "1"}
    if cache := os.environ.get("EP_CACHE_DIR"):
        environment["EP_CACHE_DIR"] = os.path.abspath(cache)
    if given.folder and not given.rehearse:
        return status(Run(given.command, given.folder, environment, only=given.only, begun=begun).run())
    with tempfile.TemporaryDirectory() as stub:
        subprocess.run([sys.executable, "-c", _BUILD, stub], cwd=ROOT, env=environment, check=True)
        on_stub = environment | {"LD_LIBRARY_PATH": extended("LD_LIBRARY_PATH", stub), "STUB_EMPTY": "1"}
        runs: list[Run] = []
        for command in COMMANDS if given.command == _COMPILE else [given.command]:
            run = Run(command, given.folder or Path(stub), on_stub, only=given.only, begun=begun)
            run.rehearses, run.limits = True, given.command != _COMPILE
            run.options = {"compares": False, **({} if run.limits else {"seconds": 0.0})}
            run.tests = environment, ["-p", "tests.cuda.ptx_machine.cubins"]
            if not any(run.stopped for run in runs):
                runs.append(run.run())
    return status(*runs)


def status(*runs: Run) -> int:
    """Return 1 if something failed, if nothing ran, or if a signal ended a run."""
    return 1 if any(run.failed or run.stopped for run in runs) or not any(run.ran for run in runs) else 0


def unpacked(archive: Path) -> str:
    """Unpack packages beside their archive, unless this very archive was, and return their folder."""
    state = archive.stat()
    folder = archive.absolute().with_name(f"{archive.name}.{state.st_size:x}.{state.st_mtime_ns:x}")
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=folder.parent) as beside:
            with tarfile.open(archive) as packed:
                # Python 3.11.2, of Debian, has no filters
                packed.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
                packed.extractall(f"{beside}/site")
            os.rename(f"{beside}/site", folder)
    return str(folder)


if __name__ == "__main__":
    sys.exit(main())
