"""Debian unstable in a folder: its Pythons are the newest that are released, and `tools.matrix` tests with them.

`python -m tools.debian FOLDER` makes it in advance, for `python -m tools.matrix --keep FOLDER`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

PACKAGES: Final = ("python3-venv", "ca-certificates", "git", "gcc", "libc6-dev")
"""What an environment is made with, and what the tests call: git, and a compiler of C."""

NAME: Final = "unstable"
OTHER_PYTHONS: Final = r"^python3\.[0-9]+-venv$"
"""The packages of all versions of Python that Debian has, for apt-get."""

_RUN: Final = """
system=$1 folder=$2
shift 2
mount -t proc proc "$system/proc"
for there in /dev /sys /etc/ssl/certs "$PWD" "$folder"; do
    mkdir -p "$system$there"
    mount --rbind "$there" "$system$there"
done
cp --dereference /etc/resolv.conf /etc/hosts "$system/etc/"
exec chroot "$system" env PATH=/usr/bin:/bin sh -c 'cd "$0" && exec "$@"' "$PWD" "$@"
"""


class CannotMakeError(Exception):
    """This machine cannot make the system; the text says why."""


def make(folder: Path) -> tuple[str, ...]:
    """Make the system in `folder / NAME` if it is not there; return the words before a command that runs in it.

    The command sees the working directory, `folder`, /dev and /proc at their paths. Mounts are in a namespace of the
    command, and end with it. Raises CannotMakeError without root, debootstrap, or Debian's packages.
    """
    system = folder / NAME
    if os.geteuid() != 0:
        raise CannotMakeError("only root can make it")
    if missing := [command for command in ("debootstrap", "unshare") if shutil.which(command) is None]:
        raise CannotMakeError(f"{missing[0]} is not installed")
    if not system.is_dir():
        unfinished = folder / f"{NAME}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        options = ["--variant=minbase", f"--include={','.join(PACKAGES)}"]
        _run("unshare", "--mount", "debootstrap", *options, NAME, str(unfinished))
        apt = "apt-get", "--yes", "--no-install-recommends", "install"
        _run(*_inside(unfinished, folder), *apt, OTHER_PYTHONS)  # from the lists that debootstrap has left
        unfinished.rename(system)
    return _inside(system, folder)


def _inside(system: Path, folder: Path) -> tuple[str, ...]:
    return "unshare", "--mount", "sh", "-euc", _RUN, "sh", str(system), str(folder)


def _run(*command: str) -> None:
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        name = next(one for one in command if one in ("debootstrap", "apt-get"))
        last = (done.stdout.splitlines() or ["no output"])[-1]
        raise CannotMakeError(f"{name} ended with exit code {done.returncode}: {last}")


if __name__ == "__main__":
    make(Path(sys.argv[1]).resolve())
