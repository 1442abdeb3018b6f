"""What is copied to images, in a process of its own: its memory is laid out otherwise than that of the tests.

`python -m tests.onnx.copied FOLDER` runs each model *.onnx of a folder with the inputs in *.npz, and writes its plan,
also if it is on disk; with `reads`, plans on disk are read. The file `out` has for each model: its outputs, whether its
plan was read, and what its image has copied: the bytes of each array, and which of its words are addresses.
"""

import pickle
import sys
from pathlib import Path

import numpy as np

import ep.onnx
from ep.cpu.engine.repeat import image
from ep.onnx.stored import Stored

PARTS = []


class Noting(image._Image):
    def packed(self, running, words):
        packed = super().packed(running, words)
        numbers = sorted(self._blocks, key=self._blocks.get)
        PARTS.extend((self._copy(number).tobytes(), [*self._words[number].addresses]) for number in numbers)
        return packed


def main(folder, mode="writes"):
    image._Image, found = Noting, {}
    if mode != "reads":
        read = Stored.read
        Stored.read = lambda self, kind, *args: None if kind == "launches" else read(self, kind, *args)
    for path in sorted(folder.glob("*.onnx")):
        PARTS.clear()
        with np.load(path.with_suffix(".npz")) as inputs:
            given = dict(inputs)
        model = ep.onnx.load(path)
        outputs = [(one.dtype.name, one.shape, one.tobytes()) for one in model(**given)]
        found[path.stem] = outputs, model._stored._made is None, [*PARTS]
    (folder / "out").write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
