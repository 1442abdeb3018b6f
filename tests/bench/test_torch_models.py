"""The group of PyTorch models; times are not checked."""

import json

import pytest

from benchmarks import options, torch_models
from ep import DeviceManagerRegistry, DeviceType

WAYS = ["eager", "ep"]
GIVEN = {"model": "perceptron", "large": False, "threads": 1, "seconds": 0.01, "ways": WAYS, "way": "ep"}


@pytest.fixture
def torch():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed; the extra `torch` has it")
    cpu = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    before = cpu.GetNumThreads(), torch.get_num_threads()
    torch._dynamo.reset()
    yield torch
    cpu.SetNumThreads(before[0])
    torch.set_num_threads(before[1])


def test_a_process(torch):
    from benchmarks.torch_process import measured

    for mode in torch_models.MODES:
        found = measured({**GIVEN, "kind": "times", "mode": mode})
        assert list(found["seconds"]) == WAYS
        assert found["difference"] < 1e-5
        assert not found["failed"]
    started = measured({**GIVEN, "kind": "start", "mode": "inference"})
    assert started["seconds"] > 0
    assert started["peak"] > 2**20
    assert list(measured({**GIVEN, "kind": "small"})) == WAYS


def test_the_group(torch, capsys, monkeypatch):
    times = {"seconds": {"eager": 3e-3, "inductor": 8e-4, "ep": 1e-3}, "difference": 1e-7, "failed": {"freezing": "no"}}
    results = {
        "times": times,
        "start": {"seconds": 2.0, "peak": 3e8, "growth": 1e8},
        "small": {"eager": 4e-6, "ep": 5e-6},
    }
    asked = []

    def run(given, caches=""):
        asked.append(given)
        assert (given["kind"] == "start") == bool(caches)
        return results[given["kind"]]

    monkeypatch.setattr(torch_models, "_run", run)
    monkeypatch.setattr(torch_models, "ways", lambda: ("eager", "inductor", "freezing", "ep"))
    arguments = options.parse(["--only", "torch", "--quick", "--cases", "^(lstm|unet)$", "--threads", "2"])
    found = json.loads(json.dumps(torch_models.measure(arguments)))
    assert [(one["model"], one["mode"], one["threads"]) for one in found["times"]] == [
        (name, mode, threads) for name in ("unet", "lstm") for mode in ("inference", "training") for threads in (1, 2)
    ]
    assert not any(one["large"] for one in asked)
    assert all(("freezing" in one["ways"]) == (one["mode"] == "inference") for one in asked if one["kind"] == "times")
    torch_models.show(found)
    out = capsys.readouterr().out
    (means, *_) = [line for line in out.splitlines() if line.startswith("geometric mean")]
    assert means.split() == ["geometric", "mean", "3.00", "0.80"]
    assert "unet: freezing failed: no" in out
    assert "torch" not in options.parse([]).only


def test_what_is_not_installed(monkeypatch):
    monkeypatch.setattr(torch_models, "find_spec", lambda name: None)
    assert torch_models.measure(options.parse(["--only", "torch"])) == {}
    monkeypatch.setattr(torch_models.shutil, "which", lambda name: None)
    assert torch_models.ways() == ("eager", "ep")
