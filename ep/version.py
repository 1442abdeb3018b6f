"""The name of the distribution, its version, and the command that installs an extra."""

from typing import Final

DISTRIBUTION: Final = "ep-primitives"
"""The name for pip and PyPI, where `ep` is another project; the package to import is `ep`."""

__version__ = "0.1.0"


def installs(extra: str) -> str:
    """Return the command that installs an extra, such as "onnx"."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"
