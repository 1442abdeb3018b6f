"""python -m examples.file_types FILE...: the types of files, by the model of the package magika, in `ep.onnx`.

It needs `pip install "ep-primitives[onnx]"` and `pip install --no-deps magika` (3 MB of weights; Apache-2.0).
"""

from __future__ import annotations

import argparse
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

import ep.onnx

PACKAGE: Final = "magika"
_AT_ONCE: Final = 32


def folder() -> Path | None:
    """Return the folder of the model's files; None if the package is not installed."""
    spec = find_spec(PACKAGE)
    places = [Path(place) / "models/standard_v3_3" for place in (spec.submodule_search_locations or ())] if spec else []
    return next((place for place in places if (place / "model.onnx").is_file()), None)


class Namer:
    """The model with its input and output; it returns the type of each content."""

    def __init__(self, device: str = "cpu") -> None:
        """Load the model; ModuleNotFoundError names the package to install."""
        place = folder()
        if place is None:
            raise ModuleNotFoundError("the model is not installed; pip install --no-deps magika", name=PACKAGE)
        self.model = ep.onnx.load(place / "model.onnx", device)
        self._config = json.loads((place / "config.min.json").read_text())

    def names(self, contents: list[bytes]) -> list[tuple[str, float]]:
        """Return the type of each content, and the model's confidence in it."""
        found, labels = [], self._config["target_labels_space"]
        for first in range(0, len(contents), _AT_ONCE):
            features = np.stack([self.features(one) for one in contents[first : first + _AT_ONCE]])
            scores: Any = ep.ops.copy_to_host(self.model(bytes=features)[0])
            found += [(labels[row.argmax()], float(row.max())) for row in scores]
        return found

    def features(self, content: bytes) -> np.ndarray[Any, Any]:
        """Return the first and the last bytes that are not white space, as input of the model."""
        block, size, padding = (self._config[name] for name in ("block_size", "beg_size", "padding_token"))
        found = np.full(size + self._config["end_size"], padding, np.int32)
        head, tail = content[:block].lstrip()[:size], content[-block:].rstrip()[-self._config["end_size"] :]
        found[: len(head)] = np.frombuffer(head, np.uint8)
        found[len(found) - len(tail) :] = np.frombuffer(tail, np.uint8)
        return found


def main() -> None:
    """Print a line for each file."""
    parser = argparse.ArgumentParser(prog="python -m examples.file_types", description=__doc__)
    parser.add_argument("file", nargs="+", type=Path)
    files = parser.parse_args().file
    for file, (name, score) in zip(files, Namer().names([one.read_bytes() for one in files]), strict=True):
        print(f"{file}: {name} ({score:.0%})")


if __name__ == "__main__":
    main()
