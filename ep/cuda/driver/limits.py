"""The limit of devices that the compiler checks: no driver is needed to read it."""

from __future__ import annotations

from typing import Final

OLDEST_CAPABILITY: Final = (8, 0)
"""The first compute capability that packs two 16-bit numbers at once, and that supports bfloat16."""
