"""`ep devices` and `ep doctor`."""

import dataclasses

import pytest

from ep import UnsupportedPrimitiveError
from ep.bench.builders_expression import expression_cases
from ep.bench.trial import set_up
from ep.cli import case_coverage, doctor
from ep.cpu.device.device import CpuDevice, report
from ep.cpu.device_manager import CpuDeviceManager
from ep.cpu.machine.kernel_cache import CACHE
from ep.include import Finding
from ep.include.device_manager_registry import DeviceManagerRegistry
from ep.include.device_type import DeviceType
from ep.include.primitive import Expression, ExpressionFactory, Gather, Memset, Softmax
from ep.include.primitive.registry import implemented
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


def test_doctor_fails_if_a_primitive_cannot_be_launched(ep, monkeypatch):
    def refusing(case, device, factory):
        if case.primitive is Gather:
            raise UnsupportedPrimitiveError("no rows today")
        return set_up(case, device, factory)

    monkeypatch.setattr(case_coverage, "set_up", refusing)
    done = ep("doctor", "--device", "cpu")
    assert done.code == 1
    assert "Gather (" in done.out
    assert "no rows today" in done.out


def test_doctor_of_one_device(ep, toy):
    DeviceManagerRegistry.RegisterDeviceManagerFactory(toy, Nothing)
    done = ep("doctor", "--device", "toy")
    assert done.code == 1
    assert "cpu:0 computes" not in done.out
    assert done.out.endswith("\nThese fail: devices.\n")


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

    monkeypatch.setattr(case_coverage, "set_up", wrong)
    done = ep("doctor")
    assert done.code == 1
    assert "Gather (rows of 64): RuntimeError: one bit fell over" in done.out
    assert done.out.endswith("\nThese fail: cpu:0 computes.\n")


class Launched:
    """A trial whose launch may be refused, and gives the right result otherwise."""

    is_right = True

    def __init__(self, refused=()):
        self.cases, self.refused = [], refused

    def set_up(self, case, device, factory):
        self.cases.append(case)
        if case.primitive in self.refused:
            raise RuntimeError("refused")
        return self


def test_doctor_launches_each_primitive_and_kind_of_expression(monkeypatch):
    launched = Launched()
    monkeypatch.setattr(case_coverage, "set_up", launched.set_up)
    (finding,) = doctor._computes(DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0))
    implementations = {factory.primitive for factory in implemented(DeviceType.kCPU)}
    assert {case.primitive for case in launched.cases} == implementations
    assert len(launched.cases) == len(implementations) + 2
    assert finding.verdict == "pass"
    assert all(primitive.__name__ in finding.details for primitive in implementations)


@pytest.mark.parametrize("refused", [[Gather], [Memset, Softmax], [Expression]], ids=str)
def test_doctor_fails_where_a_launch_is_refused_and_does_all_others(monkeypatch, refused):
    launched = Launched(refused)
    monkeypatch.setattr(case_coverage, "set_up", launched.set_up)
    (finding,) = doctor._computes(DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0))
    assert finding.verdict == "fail"
    assert all(f"{primitive.__name__} (" in finding.details for primitive in refused)
    assert finding.details.count("RuntimeError: refused") == sum(case.primitive in refused for case in launched.cases)
    assert {case.primitive for case in launched.cases} == {each.primitive for each in implemented(DeviceType.kCPU)}


def test_the_cases_of_expressions_are_right():
    """NumPy's own results are wrong ones where a product has another factor."""
    device = DeviceManagerRegistry.GetDevice(DeviceType.kCPU, 0)
    for case in expression_cases(1001):
        assert set_up(case, device, ExpressionFactory).is_right
        other = dataclasses.replace(
            case, numpy=lambda inputs, out, case=case: case.numpy([inputs[0], 2 * inputs[1]], out)
        )
        assert not set_up(other, device, ExpressionFactory).is_right


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
