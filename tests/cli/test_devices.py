"""`ep devices` and `ep doctor`."""

import pytest

from ep.cli import coverage, doctor
from ep.cpu.device.device import CpuDevice, report
from ep.cpu.device_manager import CpuDeviceManager
from ep.cpu.machine.kernel_cache import CACHE
from ep.include import Finding
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.primitive import Expression, registered
from tests.include.conftest import toy as toy


class Nothing(CpuDeviceManager):
    """A manager without devices."""

    def GetDeviceCount(self) -> int:
        return 0

    def WhyUnavailable(self) -> str:
        return "no toy was found in the box"


@pytest.fixture
def fresh_cpu(monkeypatch):
    """Create a new CPU device, with the present environment."""
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
    assert "These fail: EP_CPU_NUM_THREADS, cpu." in done.out


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
    monkeypatch.setattr(CACHE, "_keeps", True)  # later tests keep kernels again
    done = ep("doctor")
    assert done.code == 1
    assert f"{tmp_path}/file cannot be read: Not a directory" in done.out
    assert "cpu:0 computes" in done.out
    assert done.out.endswith("\nThese fail: cpu kernels.\n")


def test_doctor_says_where_threads_come_from(monkeypatch):
    monkeypatch.delenv("EP_CPU_NUM_THREADS", raising=False)
    assert "that this process may use" in report.why_threads()
    monkeypatch.setenv("EP_CPU_NUM_THREADS", "1")
    assert report.why_threads() == "from EP_CPU_NUM_THREADS"


def test_doctor_fails_where_the_cache_cannot_be_written(ep, monkeypatch):
    monkeypatch.setattr(CACHE, "why_unwritable", lambda: "the folder is read-only")
    done = ep("doctor")
    assert done.code == 1
    assert "cannot be written: the folder is read-only" in done.out
    assert done.out.endswith("\nThese fail: cpu kernels.\n")


def test_doctor_fails_where_a_result_is_wrong(ep, monkeypatch):
    def wrong(case, device, factory):
        raise RuntimeError("one bit\nfell over")

    monkeypatch.setattr(coverage, "set_up", wrong)
    done = ep("doctor")
    assert done.code == 1
    assert "Gather (rows of 64): RuntimeError: one bit fell over" in done.out
    assert done.out.endswith("\nThese fail: cpu:0 computes.\n")


def test_doctor_checks_what_the_time_allows(ep, monkeypatch):
    monkeypatch.setattr(doctor, "_SECONDS", -1.0)
    found = " ".join(ep("doctor").out.split())
    assert "cpu:0 computes pass Gather agrees with NumPy (" in found
    others = len({entry.interface for entry in registered(DeviceType.kCPU)} - {Expression}) - 1
    assert f"no time to compile the kernels of {others} other primitives: 'ep demo' checks all" in found


class Talking(CpuDevice):
    """A device that reports information on itself; the second item raises an error."""

    def device_type(self):
        return DeviceType.kToy

    def facts(self):
        return {"colour": "green"}

    def findings(self):
        yield Finding("wheels", "pass", "4")
        raise OSError("no sound")


def test_a_device_speaks_for_itself(ep, toy):
    """`ep devices` and `ep doctor` get all information on a device from it and its manager."""

    class Manager(CpuDeviceManager):
        def device_type(self):
            return toy

        def GetDevice(self, device_index):
            return Talking(self)

        def compiled_kernels(self):
            return None

        def findings(self):
            return [Finding("toy box", "fail", "open")]

    DeviceManagerRegistry.RegisterDeviceManagerFactory(toy, Manager)
    assert "toy:0 yes colour: green, alignment: 512 bytes" in " ".join(ep("devices").out.split())
    done = ep("doctor")
    rows = [" ".join(line.split()) for line in done.out.splitlines()]
    assert {"toy box fail open", "wheels pass 4", "toy:0 fail OSError: no sound"} <= set(rows)
    assert not any(row.startswith("toy kernels") for row in rows)
    assert rows[-1] == "These fail: toy box, toy:0."
