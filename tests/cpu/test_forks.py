"""Forks while another thread launches for the first time, or compiles: every child launches, and ends."""

import os
import pickle

import numpy as np
import pytest

from ep import DeviceType
from ep.testing.device_under_test import DeviceUnderTest
from tests.ops.gradient_cases import RULES, drawn
from tests.stress.call import factory_of
from tests.stress.calls import few_entries, random_call
from tests.subprocesses import run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")

FORKS = """
import faulthandler, os, signal, threading, time
import numpy as np
import ep, ep.ops
from ep import BinaryOp, DeviceManagerRegistry, DeviceType, RequirePrimitive, UnaryOp
from ep.include import primitive as p

cpu = DeviceType.kCPU
x = np.linspace(0.1, 0.9, 12, dtype=np.float32).reshape(3, 4)

def primitive(factory, *key):
    stream = DeviceManagerRegistry.GetDevice(cpu).CreateStream()
    made = RequirePrimitive(factory, cpu, *key)
    return lambda *arguments: made.Launch(stream, *arguments)

def forks_while(others, launch, count=20, pause=0.01):
    # spread over the time that the others take; children that begin later have less to do
    errors, children = [], []
    def guarded(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)
    threads = [threading.Thread(target=guarded, args=(work,)) for work in others]
    for thread in threads:
        thread.start()
    for number in range(count):
        time.sleep(pause)
        child = os.fork()
        if child == 0:
            faulthandler.dump_traceback_later(200, exit=True)  # a child that hangs says where
            try:
                launch()
                os._exit(0)
            except BaseException as error:
                print(repr(error), flush=True)
                os._exit(3)
        children.append(child)
    for thread in threads:
        thread.join()
    assert not errors, errors
    ended = [os.waitpid(child, 0)[1] for child in children]
    assert ended == [0] * count, ended
"""

FIRST = {
    "gather": "primitive(p.GatherFactory, 'float32', 'int64')(1, 3, 4, x, 2, np.array([1, 2]), np.empty_like(x[:2]))",
    "map": "primitive(p.ElementwiseUnaryFactory, UnaryOp.kRelu, 'float32', 'float32')(x, np.empty_like(x), 12)",
    "product": "ep.ops.matmul(x, x.T)",
    "rows": "ep.ops.softmax(x)",
    "sums": "ep.ops.sum(x, axis=0)",
    "gradient": "ep.ops.vjp('gelu', [x], {}, None, x)",
}
"""A launch of each family of primitives, the first one of its process."""


@pytest.fixture(scope="module")
def kernels_of_first_launches():
    """Compile the kernels to disk; without them, each of the forked children would compile them."""
    run("\n".join([FORKS, *FIRST.values()]))


@pytest.mark.parametrize("family", FIRST)
@pytest.mark.usefixtures("kernels_of_first_launches")
def test_forks_during_a_first_launch(family):
    run(f"{FORKS}\ndef launch():\n    {FIRST[family]}\nforks_while([launch], launch, 8, 0.025)")


@pytest.mark.ep_long
def test_forks_while_kernels_compile(kernels):
    """Fork while two threads compile several kernels that are not on disk; a few children compile some, too."""
    code = """
def repeated():  # a second call takes kernels, too: it is repeated in compiled code
    for _ in range(3):
        ep.ops.relu(x)
def compile_some(*ops):
    for op in ops:
        getattr(ep.ops, op)(x)
repeated()
forks_while([lambda: compile_some("sqrt", "floor", "abs"), lambda: compile_some("negative", "ceil")], repeated)
forks_while([lambda: compile_some("square", "exp2")], lambda: compile_some("tan"), 4)
"""
    run(FORKS + code, EP_CACHE_DIR=str(kernels))


@pytest.mark.ep_long
@pytest.mark.parametrize("loaded", [False, True])
def test_forks_while_other_code_compiles(loaded):
    """Fork while other code compiles by Numba, whose locks a fork takes, too.

    Numba has compiled before the fork, because its first compilation imports modules. If other code is importing a
    module at a fork, the child waits for that import for ever: Python does not release the lock of the module.
    """
    code = f"""
import numba
launch = lambda: ep.ops.relu(x)
if {loaded}:
    ep.ops.negative(x)
def compile_some(numbers=range(12)):
    for number in numbers:
        names = {{}}
        exec(f"def f(x):\\n  s = 0.0\\n  for i in range(x.size):\\n    s += x[i] * {{number}}\\n  return s", names)
        numba.njit(names["f"])(x.reshape(-1))
compile_some([12])
forks_while([compile_some], launch, 12, 0.02)
"""
    run(FORKS + code)


WATCH = """
import pickle, sys, threading
import numpy as np
import ep, ep.ops
from ep.include.process import section
launches, uses = pickle.load(open(sys.argv[1], "rb"))
outside = []
class Finder:
    def find_spec(self, name, path=None, target=None):
        if section._inside != threading.get_ident():
            frame, trace = sys._getframe(1), []
            while frame is not None:
                trace.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
                frame = frame.f_back
            outside.append((name, [line for line in trace if "importlib" not in line]))
sys.meta_path.insert(0, Finder())
"""

LAUNCH = """
device = ep.DeviceManagerRegistry.GetDevice(ep.DeviceType.kCPU)
stream = device.CreateStream()
for factory, key, arguments in launches:
    ep.RequirePrimitive(factory, ep.DeviceType.kCPU, *key).Launch(stream, **arguments)
for name, inputs, attributes, output, dy in uses:
    ep.ops.vjp(name, inputs, attributes, output, dy)
    ep.ops.vjp(name, inputs, attributes, None, dy)
class Foreign:
    pass
refused = [
    lambda: ep.ops.gelu("x"), lambda: ep.ops.gelu(Foreign()), lambda: ep.ops.gather(x, np.array([9])),
    lambda: ep.RequirePrimitive(ep.include.primitive.GatherFactory, ep.DeviceType.kCPU, "float32", "float32"),
    lambda: ep.ops.copy_to_device(np.ones(3), "cuda"),
]
for call in refused:
    try:
        call()
    except Exception:
        continue
assert not outside, outside
"""


@pytest.mark.ep_long
def test_nothing_is_imported_where_a_process_may_fork(tmp_path):
    """First launches of all primitives, operators, their gradients and the checks of arguments import nothing."""
    from ep.ops.declare.operator import operator_named
    from tests.ops.test_gradients import call

    device, uses = DeviceUnderTest(DeviceType.kCPU), []
    calls = [random_call(np.random.default_rng(3), device, entry, 1000) for entry in few_entries(device.type)]
    for name in {operator_named(name).family: name for name in RULES}.values():
        inputs, attributes = drawn(name, np.random.default_rng(3))
        output = call(name, inputs, attributes)
        dy = [*map(np.ones_like, output)] if isinstance(output, list) else np.ones_like(output)
        uses.append((name, inputs, attributes, output, dy))
    path = tmp_path / "calls"
    path.write_bytes(pickle.dumps(([(factory_of(one.entry), one.key(), one.arguments) for one in calls], uses)))
    run(f"import sys\nsys.argv.append({str(path)!r})\n{WATCH}{LAUNCH}")


def test_neither_is_mpi():
    pytest.importorskip("mpi4py")
    run(f"""import io, pickle
open = lambda *_: io.BytesIO(pickle.dumps(([], [])))
import sys
sys.argv.append("")
{WATCH}
from ep.mesh import world
outside.clear()
world.mpi()
assert not outside, outside
""")


def test_operators_are_imported_exclusively():
    run("""
import sys, threading
import ep
from ep.include.process import section
inside = []
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("ep."):
            inside.append(section._inside == threading.get_ident())
sys.meta_path.insert(0, Finder())
ep.ops.__name__
assert all(inside) and len(inside) > 20, inside
""")
