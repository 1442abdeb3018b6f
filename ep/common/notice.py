"""Notices for users who wait: once per process, and only on a terminal."""

from __future__ import annotations

import logging
import shutil
import sys
import textwrap
from typing import Final

_log = logging.getLogger("ep")
_SENTENCE: Final = "ep: compiling kernels, which takes a second or more; later processes load them"
_said = False


def compiling() -> None:
    """Say that kernels are being compiled, before the first one is. Silent if `logging.getLogger("ep")` is at ERROR."""
    global _said
    if _said or not _log.isEnabledFor(logging.WARNING) or not _is_terminal():
        return
    _said = True
    columns = shutil.get_terminal_size().columns  # broken between words, as all output of `ep` is
    print(textwrap.fill(_SENTENCE, columns, break_long_words=False), file=sys.stderr, flush=True)


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError, OSError):  # no stderr, a closed one, or an object of the program's own
        return False
