"""Notices for users who wait: once in a process, and on a terminal only."""

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
    """Say that kernels are being compiled, before the first one is; `logging.getLogger("ep")` at ERROR is silent."""
    global _said
    if _said or not _log.isEnabledFor(logging.WARNING) or not _is_terminal():
        return
    _said = True
    columns = shutil.get_terminal_size().columns  # broken between words, as all that `ep` prints
    print(textwrap.fill(_SENTENCE, columns, break_long_words=False), file=sys.stderr, flush=True)


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError, OSError):  # there is no stderr, it is closed, or it is the program's own
        return False
