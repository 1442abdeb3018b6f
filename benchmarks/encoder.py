"""The encoder of `examples/encoder`, compared with PyTorch, ONNX Runtime and OpenVINO with the same weights."""

from __future__ import annotations

import functools
import io
import json
import math
import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks import encoder_start, runtimes
from benchmarks.quiet import wait_for_threads
from ep.bench.timing import interleaved
from ep.cli import output

SHAPES: Final = ((1, 16), (1, 128), (32, 16), (32, 128))
_SENTENCES: Final = 64
_LONGEST: Final = 256
_BATCH: Final = 8
_PEERS: Final = ("torch", *runtimes.NAMES)
_PRODUCTS: Final = ("MatMul", "FusedMatMul", "Gemm", "FusedGemm", "Attention", "MultiHeadAttention")


def measure(arguments: Namespace) -> dict[str, Any]:
    """Return the distances of the vectors, the times of each shape, and the time to the first vector."""
    import torch

    present = ("torch", *runtimes.installed(arguments.peers))
    peers = [name for name in _PEERS if name in arguments.peers and name in present]
    torch.set_num_threads(arguments.threads)
    with torch.no_grad():
        return {
            "distances": _distances(),
            "times": _times(peers, arguments.threads, arguments.seconds),
            "start": encoder_start.measure(("ep", *peers)),
        }


def show(found: Mapping[str, Any]) -> None:
    """Print the tables."""
    for how, distances in found["distances"].items():
        print(f"{_SENTENCES} sentences of 4 to {_LONGEST} tokens, {how}, the largest distance:")
        print("  " + ", ".join(f"{between} {distance:.2g}" for between, distance in distances.items()))
    print("milliseconds of sentences x tokens, and of what is not products in parentheses")
    names = [*found["times"][0]["seconds"]]
    rows = []
    for case in found["times"]:
        ours = case["seconds"]["ep"]
        cells = [
            f"{case['seconds'][name] * 1e3:.1f}"
            + (f" ({case['rest'][name] * 1e3:.1f})" if name in case["rest"] else "")
            for name in names
        ]
        rows.append([case["shape"], *cells, *(f"{case['seconds'][name] / ours:.2f}" for name in names[1:])])
    columns = ("shape", *names, *(f"{name} / ep" for name in names[1:]))
    output.table(columns, rows, right=columns[1:])
    print("from the start of a process to the first vector, kernels on disk")
    rows = [
        [name, f"{one['seconds']:.2f}", f"{one['peak'] / 1e6:.0f}", f"{one['installed'] / 1e6:.0f}"]
        for name, one in found["start"].items()
    ]
    columns = ("", "seconds", "peak, MB", "installed, MB")
    output.table(columns, rows, right=columns[1:])


def _distances() -> dict[str, dict[str, float]]:
    """Return the largest distances between the vectors of ep, of PyTorch, and of PyTorch in float64."""
    import numpy as np
    import torch

    ours, single, double = _ours(), torch_model(torch.float32), torch_model(torch.float64)
    rng = np.random.default_rng(3)
    lengths = np.linspace(4, _LONGEST, _SENTENCES).astype(int)
    rng.shuffle(lengths)
    sentences = [[101, *rng.integers(1000, 30_000, length - 2).tolist(), 102] for length in lengths]
    exact = np.concatenate([double(*padded([ids])).numpy() for ids in sentences])
    found = {}
    for size, how in ((1, "one by one"), (_BATCH, f"padded, {_BATCH} at a time")):
        batches = [sentences[first : first + size] for first in range(0, _SENTENCES, size)]
        got = np.concatenate([ours.encode(batch) for batch in batches])
        theirs = np.concatenate([single(*padded(batch)).numpy() for batch in batches])
        pairs = {"ep to PyTorch": (got, theirs), "ep to float64": (got, exact), "PyTorch to float64": (theirs, exact)}
        found[how] = {between: float(abs(a - b).max()) for between, (a, b) in pairs.items()}
    return found


def _times(peers: Sequence[str], threads: int, seconds: float) -> list[dict[str, Any]]:
    """Return the seconds of each shape by library, and the seconds outside of matrix products if known."""
    import numpy as np
    import torch

    ours, single = _ours(), torch_model(torch.float32)
    products = _Clock(ours)
    rng = np.random.default_rng(5)
    found = []
    with TemporaryDirectory() as folder:
        file = io.BytesIO()
        export(single, file)
        graph = file.getvalue()
        runtime = _Runtime(graph, Path(folder), threads) if "onnxruntime" in peers else None
        for batch, tokens in SHAPES:
            sentences = rng.integers(1000, 30_000, (batch, tokens)).tolist()
            given = padded(sentences)
            calls: dict[str, Callable[[], Any]] = {"ep": functools.partial(ours.encode, sentences)}
            if "torch" in peers:
                calls["torch"] = functools.partial(single, *given)
            if runtime:
                calls["onnxruntime"] = functools.partial(runtime.run, *given)
            if "openvino" in peers:
                names = {"ids": given[0].numpy(), "mask": given[1].numpy()}
                if call := runtimes.prepared("openvino", graph, names, threads):
                    calls["openvino"] = call
            taken = {name: timing.median for name, timing in interleaved(calls, seconds, wait_for_threads).items()}
            rest = {"ep": taken["ep"] * (1 - products.share(calls["ep"]))}
            if runtime:
                rest["onnxruntime"] = taken["onnxruntime"] * runtime.rest(*given)
            found.append({"shape": f"{batch} x {tokens}", "seconds": taken, "rest": rest})
    return found


def _ours() -> Any:
    from examples.encoder import model
    from examples.encoder.encoder import Encoder

    return Encoder(model.config(), model.weights())


def padded(sentences: Sequence[Sequence[int]]) -> tuple[Any, Any]:
    """Return tokens and mask as tensors `[sentences, tokens]`."""
    import torch

    longest = max(map(len, sentences))
    ids, mask = (torch.zeros(len(sentences), longest, dtype=torch.int64) for _ in range(2))
    for row, one in enumerate(sentences):
        ids[row, : len(one)], mask[row, : len(one)] = torch.tensor(one), 1
    return ids, mask


def torch_model(dtype: Any) -> Any:
    """Return the same encoder as a module of PyTorch: its linear layers, its attention, its layer norm and its gelu."""
    import torch
    from torch.nn import functional as f

    from examples.encoder import model

    config = model.config()
    weights = {name: torch.from_numpy(array).to(dtype) for name, array in model.weights().items()}
    size, heads, epsilon = config.hidden_size, config.num_attention_heads, config.layer_norm_eps

    def linear(x: Any, name: str) -> Any:
        return f.linear(x, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def norm(x: Any, name: str) -> Any:
        return f.layer_norm(x, (size,), weights[f"{name}.weight"], weights[f"{name}.bias"], epsilon)

    class Bert(torch.nn.Module):  # type: ignore[misc]
        def forward(self, ids: Any, mask: Any) -> Any:
            batch, tokens = ids.shape
            x = f.embedding(ids, weights["embeddings.word_embeddings.weight"])
            x = x + weights["embeddings.position_embeddings.weight"][:tokens]
            x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
            hidden = ((1 - mask[:, None, None, :]) * -1e30).to(dtype)
            for layer in range(config.num_hidden_layers):
                name = f"encoder.layer.{layer}"
                q, k, v = (
                    linear(x, f"{name}.attention.self.{part}").view(batch, tokens, heads, size // heads).transpose(1, 2)
                    for part in ("query", "key", "value")
                )
                scores = q @ k.transpose(2, 3) / math.sqrt(size // heads) + hidden
                context = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, tokens, size)
                attended = linear(context, f"{name}.attention.output.dense")
                x = norm(x + attended, f"{name}.attention.output.LayerNorm")
                inner = f.gelu(linear(x, f"{name}.intermediate.dense"))
                x = norm(x + linear(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
            share = mask[:, :, None].to(dtype)
            return f.normalize((x * share).sum(1) / share.sum(1))

    return Bert().eval()


def export(module: Any, file: Any) -> None:
    """Write the graph of a module as an ONNX model to a file."""
    import torch

    names = ["ids", "mask"]
    axes = {name: {0: "batch", 1: "tokens"} for name in names}
    torch.onnx.export(
        module, padded([[1, 2, 3]]), file, input_names=names, dynamic_axes=axes, opset_version=20, dynamo=False
    )


class _Runtime:
    """ONNX Runtime, with the graph that PyTorch exports."""

    def __init__(self, graph: bytes, folder: Path, threads: int) -> None:
        import onnxruntime

        self._model, self._folder, self._threads = graph, folder, threads
        self._session = onnxruntime.InferenceSession(self._model, self._options(), ["CPUExecutionProvider"])

    def _options(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = self._threads, 4
        options.add_session_config_entry("session.force_spinning_stop", "1")
        return options

    def run(self, ids: Any, mask: Any) -> Any:
        """Return the vectors."""
        return self._session.run(None, {"ids": ids.numpy(), "mask": mask.numpy()})

    def rest(self, ids: Any, mask: Any, times: int = 5) -> float:
        """Return the share of the time outside of products, by the runtime's own profile."""
        import onnxruntime

        options = self._options()
        options.enable_profiling, options.profile_file_prefix = True, str(self._folder / "profile")
        session = onnxruntime.InferenceSession(self._model, options, ["CPUExecutionProvider"])
        for _ in range(times):
            session.run(None, {"ids": ids.numpy(), "mask": mask.numpy()})
        events = json.loads(Path(session.end_profiling()).read_text())
        nodes = [event for event in events if event.get("cat") == "Node" and event["name"].endswith("kernel_time")]
        products = sum(event["dur"] for event in nodes if event["args"]["op_name"] in _PRODUCTS)
        return 1 - products / max(sum(event["dur"] for event in nodes), 1)


class _Clock:
    """Measures the time of the products of an encoder."""

    def __init__(self, encoder: Any) -> None:
        self._run, self._spent = encoder._run, 0.0
        self._plain = dict(vars(self._run))

    def share(self, encode: Callable[[], Any], times: int = 5) -> float:
        """Return the share of the time that products take."""
        for name, launch in self._plain.items():
            if "matmul" in name:
                setattr(self._run, name, self._timed(launch))
        try:
            self._spent, began = 0.0, time.perf_counter()
            for _ in range(times):
                encode()
            return self._spent / (time.perf_counter() - began)
        finally:
            vars(self._run).update(self._plain)

    def _timed(self, launch: Callable[..., None]) -> Callable[..., None]:
        def timed(*arguments: Any) -> None:
            began = time.perf_counter()
            launch(*arguments)
            self._spent += time.perf_counter() - began

        return timed
