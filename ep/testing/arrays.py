"""Short names of the types of arguments of tests."""

from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, Any]
Dims: TypeAlias = tuple[int, ...]
Rng: TypeAlias = np.random.Generator
