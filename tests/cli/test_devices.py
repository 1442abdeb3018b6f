"""`ep devices` and `ep doctor`."""

import pytest

from ep.cli import coverage, cpu, kernel_caches
from ep.cpu.device_manager import CpuDeviceManager
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from tests.include.conftest import toy as toy


class Nothing(CpuDeviceManager):
    """A manager without devices."""

    def GetDeviceCount(self) -> int:
        return 0

    def WhyUnavailable(self) -> str:
        return "no toy was found in the box"


@pytest.fixture
def fresh_cpu(monkeypatch):
    """The CPU device is made anew, with what the environment says now."""
    monkeypatch.setattr(DeviceManagerRegistry, "_managers", {})


def test_json(ep):
    by_tag = {row["tag"]: row for row in ep("devices", "--format", "json").json()}
    threads = DeviceManagerRegistry.GetDevice(DeviceType.kCPU).GetNumThreads()
    assert by_tag["cpu"] == {
        "device_type": "kCPU",
        "tag": "cpu",
        "devices": [{"index": 0, "device": "cpu:0", "threads": threads}],
        "alignment": 512,
        "why_unavailable": None,
    }
    assert by_tag["cuda"]["devices"] == [] or by_tag["cuda"]["why_unavailable"] is None


def test_table(ep, toy):
    DeviceManagerRegistry.RegisterDeviceManagerFactory(toy, Nothing)
    lines = [" ".join(line.split()) for line in ep("devices").out.splitlines()]
    assert lines[1].startswith("cpu:0 yes threads: ")
    assert lines[1].endswith("alignment: 512 bytes")
    assert "toy no no toy was found in the box" in lines


def test_refused_setting(ep, fresh_cpu, monkeypatch):
    monkeypatch.setenv("EP_CPU_NUM_THREADS", "many")
    assert "EP_CPU_NUM_THREADS is 'many'" in ep("devices").out
    done = ep("doctor")
    assert done.code == 1
    assert "These fail: EP_CPU_NUM_THREADS, threads, cpu." in done.out


def test_doctor(ep, toy):
    DeviceManagerRegistry.RegisterDeviceManagerFactory(toy, Nothing)
    done = ep("doctor")
    assert done.code == 0
    assert done.out.endswith("\nNothing fails.\n")
    rows = {line.partition("  ")[0]: " ".join(line.split()) for line in done.out.splitlines()}
    for package in ("numpy", "numba", "llvmlite", "ml_dtypes"):
        assert rows[package].startswith(f"{package} pass ")
    assert {"ep", "python", "numba-cuda", "processor", "cuda"} <= set(rows)
    assert rows["threads"].startswith("threads pass ")
    assert "agree with NumPy" in rows["cpu:0 computes"]
    assert rows["toy"] == "toy not available: no toy was found in the box"


def test_doctor_goes_on_where_the_cache_cannot_be_read(ep, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("EP_CACHE_DIR", str(tmp_path / "file"))
    done = ep("doctor")
    assert done.code == 1
    assert f"{tmp_path}/file cannot be read: Not a directory" in done.out
    assert "cpu:0 computes" in done.out
    assert done.out.endswith("\nThese fail: cache.\n")


def test_doctor_says_where_threads_come_from(monkeypatch):
    monkeypatch.delenv("EP_CPU_NUM_THREADS", raising=False)
    assert "that this process may use" in cpu.why_threads()
    monkeypatch.setenv("EP_CPU_NUM_THREADS", "1")
    assert cpu.why_threads() == "from EP_CPU_NUM_THREADS"


def test_doctor_fails_where_the_cache_cannot_be_written(ep, monkeypatch):
    monkeypatch.setattr(kernel_caches, "why_unwritable", lambda: "the folder is read-only")
    done = ep("doctor")
    assert done.code == 1
    assert "cannot be written: the folder is read-only" in done.out
    assert done.out.endswith("\nThese fail: cache.\n")


def test_doctor_fails_where_a_result_is_wrong(ep, monkeypatch):
    def wrong(case, device, factory):
        raise RuntimeError("one bit\nfell over")

    monkeypatch.setattr(coverage, "set_up", wrong)
    done = ep("doctor")
    assert done.code == 1
    assert "Gather (rows of 64): RuntimeError: one bit fell over" in done.out
    assert done.out.endswith("\nThese fail: cpu:0 computes.\n")
