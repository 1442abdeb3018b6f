"""The commit that is checked out: it determines which cases of tests run."""

from __future__ import annotations

import subprocess
from pathlib import Path


def commit() -> str:
    """Return the short name of the commit of this repository; an empty string outside one, or without git."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""
