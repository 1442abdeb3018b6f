"""Limits that CUDA gives in advance: nothing here asks a driver, so kernels that are compiled read them too."""

from __future__ import annotations

from typing import Final

OLDEST_CAPABILITY: Final = (8, 0)
"""The first compute capability that packs two 16-bit numbers at once, and that knows bfloat16."""

SHARED_BYTES: Final = 48 * 1024
"""The shared memory that a block may always have."""
