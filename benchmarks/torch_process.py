"""A process of the group `torch`: `python -m benchmarks.torch_process JSON` measures one thing, and prints JSON.

It is a process of its own because compiled graphs, caches and the high-water mark of the memory belong to a process.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from benchmarks.options import set_threads

_SEED: Final = 3
_STEPS: Final = 5
"""The calls after which the memory of a process no longer grows, and plans are recorded."""

Call = Callable[[], Any]


def compiled(function: Any, way: str) -> Any:
    """Return a function compiled in a way: eager, inductor, freezing (inductor, with constant parameters), ep."""
    import torch

    if way == "eager":
        return function
    if way == "freezing":
        return torch.compile(function, backend="inductor", dynamic=False, options={"freezing": True})
    return torch.compile(function, backend=way, dynamic=False)


def call_of(given: Mapping[str, Any], way: str) -> Call:
    """Return a call of a model, which returns a number: the mean of its result, or its loss after all gradients."""
    import torch

    from tests.torch.models import MODELS

    model = MODELS[given["model"]]
    torch.manual_seed(_SEED)
    module = model.make(given["large"]).train(given["mode"] == "training")
    args = model.inputs(given["large"], torch.Generator().manual_seed(_SEED))
    if given["mode"] == "training":
        loss_of = compiled(lambda *args: model.loss(module(*args)), way)

        def train() -> Any:
            module.zero_grad()
            loss = loss_of(*args)
            loss.backward()
            return loss.detach()

        return train
    function = compiled(module, way)

    def infer() -> Any:
        with torch.no_grad():
            return function(*args)

    return infer


def times(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the seconds of a call by way, in turns; how far ep's number is from eager's; and ways that failed."""
    import torch

    from benchmarks.quiet import wait_for_threads
    from ep.bench.timing import interleaved

    calls, failed, first = dict[str, Call](), dict[str, str](), dict[str, float]()
    for way in given["ways"]:
        try:
            call = call_of(given, way)
            for _ in range(_STEPS):
                torch.manual_seed(_SEED)
                first[way] = float(call().double().square().mean())
            calls[way] = call
        except Exception as error:
            if way in ("eager", "ep"):
                raise
            failed[way] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    timings = interleaved(calls, given["seconds"] * len(calls), wait_for_threads)
    return {
        "seconds": {way: one.median for way, one in timings.items()},
        "difference": abs(first["ep"] / first["eager"] - 1),
        "failed": failed,
    }


def start(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the seconds of the first call, with what it imports and compiles; the peak memory in bytes, and how far it
    is above the memory before that call, with the model in it."""
    call = call_of(given, given["way"])
    before = _memory("VmRSS")
    began = time.perf_counter()
    call()
    seconds = time.perf_counter() - began
    for _ in range(_STEPS):
        call()
    peak = _memory("VmHWM")
    return {"seconds": seconds, "peak": peak, "growth": peak - before}


def _memory(field: str) -> int:
    """Return the bytes that the kernel gives for this process."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) * 1024


def small(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the seconds of a call with 64 elements, where nearly all is overhead."""
    import torch

    from ep.bench.timing import interleaved

    x, y = torch.ones(64), torch.ones(64)
    calls = dict[str, Call]()
    with torch.no_grad():
        for way in given["ways"]:
            if way != "freezing":
                calls[way] = _bound(compiled(lambda x, y: torch.tanh(x * 2 + y), way), x, y)
        return {way: one.median for way, one in interleaved(calls, given["seconds"] * len(calls)).items()}


def _bound(function: Any, *args: Any) -> Call:
    for _ in range(_STEPS):
        function(*args)
    return lambda: function(*args)


KINDS: Final = {"times": times, "start": start, "small": small}


def measured(given: Mapping[str, Any]) -> dict[str, Any]:
    """Measure one thing in this process. given: `kind`, a name of KINDS, and what that reads."""
    import torch

    from ep import DeviceManagerRegistry, DeviceType

    torch.set_num_threads(given["threads"])
    device: Any = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    device.SetNumThreads(given["threads"])
    with torch._dynamo.config.patch(allow_rnn=True):
        return KINDS[given["kind"]](given)


if __name__ == "__main__":
    wanted = json.loads(sys.argv[1])
    set_threads(wanted["threads"])  # before any library with threads is imported
    print(json.dumps(measured(wanted)))
