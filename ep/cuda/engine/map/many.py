"""How many operands a sum has in one launch."""

from typing import Final

FEW: Final = 8
"""Up to so many there is a kernel for each number."""

GROUP: Final = 4
"""The operands whose loads are under way at once, where there are more."""

MANY: Final = 4 * GROUP
"""The most operands of one launch."""
