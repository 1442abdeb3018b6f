"""Random ONNX models of a few nodes, against references: planned, repeated, restored from disk, by several threads."""

import hashlib
import tempfile
import threading
from pathlib import Path

from onnx import ModelProto, compose, helper

import ep.onnx
from ep.include import DeviceManagerRegistry, DeviceType
from tests.onnx.operators import served
from tests.onnx.operators.check import case_of, check_error, compare, draws
from tests.onnx.operators.record import Refused
from tests.onnx.operators.records import RECORDS
from tests.stress.draw import chance, pick

FRESH, SECONDS, DEVICES = False, 180, None
THREADS = 3


def trial(rng, tag):
    """Run a model of some operators of one opset; each must have its own results, or its own error."""
    opset = int(rng.integers(served.OLDEST, served.NEWEST + 1))
    cases = [drawn(rng, opset) for _ in range(pick(rng, (1, 1, 2, 3, 5)))]
    for case in cases:
        if isinstance(case.expected, Refused):
            check_error(case, tag)
    good = [case for case in cases if not isinstance(case.expected, Refused)]
    if good:
        run(rng, tag, good)


def drawn(rng, opset):
    """Return a case of a random operator of an opset."""
    while True:
        record = RECORDS[pick(rng, sorted(RECORDS))]
        known = [since for since in served.schemas(record.name) if opset in served.opsets(record.name, since)]
        dtypes = [dtype for _, since, dtype in served.cases({record.name: record}) if since in known]
        if dtypes:
            return case_of(record, draws(record, known[0], pick(rng, dtypes), rng), opset)


def run(rng, tag, cases):
    """Run a model of some cases, as it is and after a process has stored its plan, with these and other numbers."""
    model, others = joined(cases), [case.changed(rng) for case in cases]
    sets = [cases, *([others] if not any(isinstance(case.expected, Refused) for case in others) else [])]
    contents = model.SerializeToString()
    with tempfile.TemporaryDirectory(prefix="ep-stress-") as folder:
        path = Path(folder, "model.onnx")
        path.write_bytes(contents)
        try:
            first = ep.onnx.load(path, tag)
            for _ in range(3):
                for one in sets:
                    check(first, one)
            if chance(rng, 0.3):
                in_threads(first, sets)
            restored = ep.onnx.load(path, tag)
            for one in sets:
                check(restored, one)
        finally:
            remove(contents, tag)


def check(model, cases):
    """Run a model, and compare the results of each of its cases."""
    given = {f"{k}/{name}": one for k, case in enumerate(cases) for name, one in case.inputs.items()}
    found = dict(zip((one.name for one in model.outputs), model.run(None, given), strict=True))
    for k, case in enumerate(cases):
        compare(case, [found[name] for name in sorted(found) if name.startswith(f"{k}/")])


def in_threads(model, sets):
    """Run a model in several threads at once."""
    errors = []

    def work(k):
        try:
            for _ in range(4):
                check(model, sets[k % len(sets)])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(THREADS)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    if errors:
        raise errors[0]


def joined(cases):
    """Return one model of the nodes of some cases of one opset, with a number before each name."""
    whole = ModelProto()
    for k, case in enumerate(cases):
        part = compose.add_prefix(case.model, f"{k}/")
        for size in (size for one in part.graph.input for size in one.type.tensor_type.shape.dim if size.dim_param):
            size.dim_param = f"{k}/{size.dim_param}"
        if k == 0:
            whole.CopyFrom(part)
            continue
        for several in ("node", "initializer", "input", "output"):
            getattr(whole.graph, several).extend(getattr(part.graph, several))
    del whole.opset_import[:]
    whole.opset_import.extend([helper.make_opsetid("", cases[0].model.opset_import[0].version)])
    whole.ir_version = max(case.model.ir_version for case in cases)
    return whole


def remove(contents, tag):
    """Remove the plans that have been kept of a model."""
    kernels = DeviceManagerRegistry.GetDeviceManager(DeviceType.FromTag(tag)).compiled_kernels()
    if kernels:
        for path in Path(kernels.folder()).glob(f"*.{hashlib.sha256(contents).hexdigest()}-*.plan"):
            path.unlink(missing_ok=True)
