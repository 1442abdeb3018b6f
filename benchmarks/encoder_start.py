"""The time of the encoder from the start of a process to the first vector, compared with other libraries.

The figures are the seconds to the first vector of a sentence and the peak memory of the process, as medians of several
processes, and the installed megabytes of each library with its requirements. The kernels of `ep` are in its cache.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from packaging.requirements import Requirement

_PROCESSES: Final = 3

_TOKENS: Final = """
from tokenizers import Tokenizer
from examples.encoder.model import required_folder
ids = Tokenizer.from_file(str(required_folder() / "tokenizer.json")).encode("A man plays the guitar.").ids
"""

_WAYS: Final = {
    "ep": "from examples.encoder.model import Model\nModel().encode(['A man plays the guitar.'])",
    "torch": _TOKENS
    + "import torch\nfrom benchmarks.encoder import padded, torch_model\n"
    + "with torch.no_grad():\n    torch_model(torch.float32)(*padded([ids]))",
    "onnxruntime": _TOKENS
    + "import sys, numpy, onnxruntime\n"
    + "session = onnxruntime.InferenceSession(sys.argv[1], None, ['CPUExecutionProvider'])\n"
    + "session.run(None, {'ids': numpy.array([ids]), 'mask': numpy.ones((1, len(ids)), numpy.int64)})",
    "openvino": _TOKENS
    + "import sys, numpy, openvino\n"
    + "options = {'PERFORMANCE_HINT': 'LATENCY', 'INFERENCE_PRECISION_HINT': 'f32'}\n"
    + "model = openvino.Core().compile_model(sys.argv[1], 'CPU', options)\n"
    + "model({'ids': numpy.array([ids]), 'mask': numpy.ones((1, len(ids)), numpy.int64)})",
}

# not the system's count for a child, which begins with the memory of the process that starts it
_PEAK: Final = """
status = open("/proc/self/status")
print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024)
"""

_PACKAGES: Final = {
    "ep": ("numpy", "numba", "ml_dtypes", "scipy-openblas64", "rich"),
    "torch": ("torch", "numpy"),
    "onnxruntime": ("onnxruntime",),
    "openvino": ("openvino",),
}


def measure(libraries: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return `seconds`, and the bytes `peak` and `installed`, of each library: ep, and peers."""
    found = {}
    with TemporaryDirectory() as folder:
        model = str(Path(folder) / "model.onnx")
        export = "import sys, torch\nfrom benchmarks.encoder import export, torch_model\n"
        subprocess.run(
            [sys.executable, "-c", export + "export(torch_model(torch.float32), sys.argv[1])", model], check=True
        )
        for library in libraries:
            runs = [_run(_WAYS[library], model) for _ in range(_PROCESSES + 1)][1:]  # the first may compile
            seconds, peak = (statistics.median(values) for values in zip(*runs, strict=True))
            found[library] = {"seconds": seconds, "peak": peak, "installed": _installed(_PACKAGES[library])}
    return found


def _run(code: str, model: str) -> tuple[float, int]:
    """Return the seconds until a process has run `code`, and its peak memory in bytes."""
    start = time.perf_counter()
    command = [sys.executable, "-c", f"{code}\nprint(flush=True)\n{_PEAK}", model]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        seconds = time.perf_counter() - start
        peak = process.stdout.read()
    if process.returncode:
        raise RuntimeError(f"a process ended with {process.returncode}")
    return seconds, int(peak)


def _installed(names: tuple[str, ...]) -> int:
    """Return the bytes of the files of packages and of their requirements."""
    waiting, seen, size = list(names), set[str](), 0
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        if name in seen:
            continue
        seen.add(name)
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # a requirement on another system only
            continue
        for file in distribution.files or ():
            path = Path(str(distribution.locate_file(file)))
            size += path.stat().st_size if path.is_file() else 0
        needed = [Requirement(text) for text in distribution.requires or ()]
        waiting += [one.name for one in needed if one.marker is None or one.marker.evaluate({"extra": ""})]
    return size
