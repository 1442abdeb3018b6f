"""The output of `ep devices` and `ep doctor` about CUDA devices, and the commands that leave out a simulated device."""

import json

import pytest

from ep import DeviceType
from ep.bench.cases import bench_cases
from ep.cli import demo, doctor, present
from ep.cli.main import main
from ep.cuda.device import report
from ep.cuda.driver.interface import CudaError
from ep.include.primitive.registry import implemented


def test_devices(cuda, capsys):
    assert main(["devices", "--format", "json"]) == 0
    (row,) = [row for row in json.loads(capsys.readouterr().out) if row["tag"] == "cuda"]
    assert row["why_unavailable"] is None
    device = row["devices"][0]
    assert device["device"] == "cuda:0"
    assert device["name"] == cuda.properties.name
    assert device["memory"] == cuda.properties.total_memory
    assert main(["devices"]) == 0
    assert f"name: {cuda.properties.name}, compute_capability: " in capsys.readouterr().out


def test_doctor(cuda, monkeypatch):
    monkeypatch.setattr(doctor, "_computes", lambda device: iter(()))
    (finding,) = [finding for finding in doctor._devices([DeviceType.kCUDA]) if finding.what == "cuda:0"]
    assert finding.details.startswith(f"{cuda.properties.name}, compute capability ")
    assert "GiB free, the driver supports CUDA " in finding.details


def test_doctor_goes_on_where_a_gpu_cannot_be_used(cuda, monkeypatch):
    def full(device):
        raise MemoryError("cuDevicePrimaryCtxRetain: out of memory")

    monkeypatch.setattr(doctor, "_computes", lambda device: iter(()))
    monkeypatch.setattr(type(cuda), "memory_figures", full)
    findings = [finding for finding in doctor._devices([DeviceType.kCUDA]) if finding.what.startswith("cuda:")]
    assert findings[0] == ("cuda:0", "fail", "MemoryError: cuDevicePrimaryCtxRetain: out of memory")


def test_doctor_goes_on_after_a_launch_is_refused(cuda, monkeypatch):
    launch, refused = cuda.driver.launch, []

    def refuse_the_first(*arguments):
        if not refused:
            refused.append(arguments)
            raise CudaError("cuLaunchKernel", 1, "CUDA_ERROR_INVALID_VALUE", "invalid argument")
        launch(*arguments)

    monkeypatch.setattr(cuda.driver, "launch", refuse_the_first)
    (finding,) = doctor._computes(cuda)
    said = "Gather (rows of 64): CudaError: cuLaunchKernel: invalid argument (CUDA_ERROR_INVALID_VALUE, error 1) ("
    assert (finding.what, finding.verdict) == ("cuda:0 computes", "fail")
    assert finding.details.startswith(said)
    (finding,) = doctor._computes(cuda)
    assert finding.verdict == "pass"
    assert all(each.primitive.__name__ in finding.details for each in implemented(DeviceType.kCUDA))


def test_a_simulated_device_is_used_by_name_only(cuda, monkeypatch):
    assert cuda in present.devices()
    monkeypatch.setattr(cuda, "simulated", True, raising=False)
    assert present.devices([DeviceType.kCUDA])[0] is cuda
    assert cuda not in present.devices()


def test_the_demo_is_small_on_a_simulated_device(cuda, monkeypatch, capsys):
    monkeypatch.setattr(cuda, "simulated", True, raising=False)
    monkeypatch.setattr(demo, "_SECONDS", 0.0)
    monkeypatch.setattr(demo, "demo_cases", lambda: pytest.fail("these take hours"))
    assert main(["demo", "--device", "cuda"]) == 0
    said = capsys.readouterr()
    assert said.err == "ep: note: cuda:0 is simulated: its results have about 1,024 elements\n"
    assert sum(line.endswith("  ok") for line in said.out.splitlines()) == len(bench_cases(2**10))


def test_the_release_of_nvvm(monkeypatch):
    monkeypatch.setattr(report, "path_of", lambda library: None if library == "cudart" else f"/{library}.so")
    for releases, said in (
        (("13.0.88",), "release 13.0.88"),
        (("13.0.88", "13.5.37"), "release 13.0.88 with libdevice of 13.5.37"),
    ):
        monkeypatch.setattr(report, "nvvm_releases", lambda releases=releases: releases)
        details = {finding.what: finding.details for finding in report.libraries()}
        assert details["nvvm"] == f"/nvvm.so, {said}"
        assert details["nvrtc"] == "/nvrtc.so"
        assert details["cudart"] == "not found; needed for CUDA devices alone"


@pytest.mark.parametrize("installed", [True, False])
def test_versions(monkeypatch, installed):
    monkeypatch.setattr(report, "version_of", lambda package: "1.2" if installed and package != "cuda-core" else None)
    parts = "cuda-bindings 1.2, cuda-core (missing), nvidia-nvvm 1.2, nvidia-cuda-nvrtc 1.2, nvidia-nvjitlink 1.2"
    want = f"1.2, with {parts}"
    assert report.packages().details == (want if installed else "not installed; needed for CUDA devices alone")
