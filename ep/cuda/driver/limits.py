"""Limits that CUDA guarantees: no driver is needed to read them, so compiled kernels use them too."""

from __future__ import annotations

from typing import Final

OLDEST_CAPABILITY: Final = (8, 0)
"""The first compute capability that packs two 16-bit numbers at once, and that supports bfloat16."""

SHARED_BYTES: Final = 48 * 1024
"""The shared memory that every block may use."""
