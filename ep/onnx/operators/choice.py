"""If: one of two parts of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from ep.onnx.operators.fitting import number
from ep.onnx.operators.line import line


@line("If", 1, host=(0,))
def choose(condition: np.ndarray[Any, Any], *_: Any, then_branch: Any, else_branch: Any) -> Any:
    """Return the branch that is computed in the place of the node."""
    return then_branch if number("cond", condition) else else_branch
