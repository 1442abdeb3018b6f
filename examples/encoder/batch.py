"""Sentences of several lengths as one batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def padded(sentences: Sequence[Sequence[int]]) -> tuple[Array, Array]:
    """Return the token ids, int64 `[sentences, tokens]`, padded with 0; and a mask that is true at tokens."""
    lengths = np.array([len(ids) for ids in sentences])
    is_token = np.arange(lengths.max()) < lengths[:, None]
    ids = np.zeros(is_token.shape, np.int64)
    ids[is_token] = np.concatenate([np.asarray(one, np.int64) for one in sentences])
    return ids, is_token
