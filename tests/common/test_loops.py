"""Unrolled loops: the resulting functions, their keys, and errors."""

import importlib.util
import linecache
import py_compile
import subprocess
import sys
import traceback
import zipfile

import numba
import pytest

from ep.common.loops import unrolled
from ep.common.loops.writer import write_out
from tests.subprocesses import environment_of

FROM_GLOBALS = 3


def text_of(function):
    return "".join(linecache.getlines(function.__code__.co_filename))


def weighted(functions, weight):
    @write_out
    def total(numbers, *, start=FROM_GLOBALS):
        """Return the sum."""
        for k, function in unrolled(enumerate(functions)):
            start += function(numbers[k + weight * 2]) * weight
        return start

    return total


def test_a_loop_becomes_its_turns():
    function = weighted((abs, int), 1)
    assert text_of(function).splitlines()[2:] == [
        "    start += function_0(numbers[0 + 1 * 2]) * 1",
        "    start += function_1(numbers[1 + 1 * 2]) * 1",
        "    return start",
    ]
    assert function((9, 9, -5, 6.5)) == 3 + 5 + 6
    assert function((9, 9, -5, 6.5), start=1) == 12
    assert (function.__name__, function.__module__, function.__doc__) == ("total", __name__, "Return the sum.")


def test_a_loop_of_no_turns_leaves_nothing():
    assert weighted((), 1)(()) == FROM_GLOBALS


def test_generators_become_elements_terms_and_arguments():
    pairs, count = ((2, 3), (4, 5)), 3

    @write_out
    def made(x):
        products = tuple(a * b + x for a, b in unrolled(pairs))
        nested = tuple(tuple(i * j for j in unrolled(range(i))) for i in unrolled(range(count)))
        joined = sum((products[k : k + 1] for k in unrolled(range(1, -1, -1))), ())
        return products, nested, joined, max(0, *(x - k for k in unrolled(range(-1, count))), x)

    assert made(1) == ((7, 21), ((), (0,), (0, 2)), (21, 7), 2)
    assert "max(0, x - -1, x - 0, x - 1, x - 2, x)" in text_of(made)


def test_loops_in_loops_and_ordinary_loops_inside():
    @write_out
    def counted(numbers):
        total = 0
        for k in unrolled(range(3)):
            for _ in unrolled(range(k)):
                total += 1
            for number in numbers:
                if number < k:
                    continue
                total += number
        return total

    assert counted((1, 2)) == 3 + (1 + 2) + (1 + 2) + 2


def test_without_the_decorator_it_computes_the_same():
    @write_out
    def written(x):
        return tuple(x + k for k in unrolled(range(3)))

    def plain(x):
        return tuple(x + k for k in unrolled(range(3)))

    assert plain(5) == written(5) == (5, 6, 7)


def test_values_of_loops_take_names_that_are_free():
    def functions_of(x_0):
        @write_out
        def each(number):
            function_0 = x_0
            return tuple(function(number) + function_0 for function in unrolled((abs, int, abs)))

        return each

    function = functions_of(1)
    assert function(-2.5) == (3.5, -1, 3.5)
    assert "(function_0_(number) + function_0, function_1(number) + function_0, function_0_(number)" in text_of(
        function
    )


def test_a_traceback_shows_the_line_that_was_written():
    def broken(_):
        raise ArithmeticError("broken")

    function = weighted((abs, broken), 1)
    with pytest.raises(ArithmeticError) as caught:
        function((0, 0, 0, 0))
    frame = traceback.extract_tb(caught.value.__traceback__)[1]
    assert (frame.lineno, frame.line) == (4, "start += function_1(numbers[1 + 1 * 2]) * 1")
    linecache.checkcache()
    assert text_of(function)


REFUSED = [
    ("x += 1", "has no loop over"),
    ("for k in unrolled(range(x)): x += k", "`unrolled(range(x))`, and `x` is only known when it runs"),
    ("for k in unrolled(3): x += k", "cannot be looped over: 'int' object is not iterable"),
    ("for k in unrolled(range(2)):\n   if x: break", "by `break` or `continue`"),
    ("for k in unrolled(range(2)): x += k\n  else: x = 0", "with `else`"),
    ("for k in unrolled(range(2)): k += x", "assigns `k`, the variable of a loop"),
    ("for k in unrolled(range(2)): x += k\n  return k", "has `k` outside of the loop"),
    ("return tuple(x for k in unrolled(range(2)) if k)", "with a condition or a second loop"),
    ("return [x for _ in unrolled(range(2))]", "elsewhere than in `for`, `tuple`"),
    ("for a, b in unrolled(((1, 2), (3,))): x += a + b", "loops by `(a, b)`, and a value has 1 parts"),
    ("for x[0] in unrolled(range(2)): pass", "by `x[0]`, which is not made of names"),
    ("for k in unrolled(range(2)):\n   for k in unrolled(range(2)): x += k", "a loop of `k` in a loop of `k`"),
    ("for k in unrolled(range(2), 3): x += k", "without its one argument"),
]


@pytest.mark.parametrize(("body", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_cannot_be_written_out_is_refused_with_its_place(imported, body, words):
    module, path = imported(f"from ep.common.loops import unrolled\ndef make():\n def f(x):\n  {body}\n return f\n")
    with pytest.raises(TypeError) as caught:
        write_out(module.make())
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"make.<locals>.f ({path}:")


@pytest.mark.parametrize("value", [abs, 3, lambda x: x])
def test_only_functions_that_were_written_are_taken(value):
    with pytest.raises(TypeError, match="must be a function that was written with `def`"):
        write_out(value)


TEMPLATE = """
from ep.common.loops import unrolled
from ep.common.loops.writer import write_out

def make(functions, count):
    @write_out
    def f(x):
        for function in unrolled(functions):
            x = function(x)
        for k in unrolled(range(count)):
            x += k
        return x
    return f
"""


@pytest.fixture
def imported(tmp_path):
    """Yield a function that writes a text to a file and imports it as a module."""
    made = []

    def import_module(text, name="ep_template"):
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        made.append(name)
        spec.loader.exec_module(module)
        return module, path

    yield import_module
    for name in made:
        sys.modules.pop(name, None)


def test_a_file_that_changed_after_its_import_is_never_taken_for_the_code_that_runs(imported):
    module, path = imported(TEMPLATE)
    path.write_text(TEMPLATE.replace("x += k", "x -= k"))
    with pytest.raises(
        RuntimeError, match=r"make\.<locals>\.f \(.*:6\) is not what was imported: its file has changed"
    ):
        module.make((), 2)
    path.write_text(TEMPLATE)
    assert module.make((), 3)(0) == 3
    path.write_text("")  # a source is read only once
    assert module.make((), 4)(0) == 6
    path.unlink()
    assert module.make((abs,), 2)(-1) == 2


def test_a_function_without_source_is_refused():
    space = {"write_out": write_out, "unrolled": unrolled}
    text = "def f(x):\n    for k in unrolled(range(2)):\n        x += k\n"
    exec(compile(text, "<of no file>", "exec"), space)  # Python 3.13 keeps the text of `-c` as that of "<string>"
    with pytest.raises(RuntimeError, match="its source is not at hand"):
        write_out(space["f"])


KERNEL = """
from ep.common.loops import unrolled, written_out

def make(functions, compile_function):
    \"\"\"A docstring, and an assertion, which -OO leaves out.\"\"\"
    @written_out(compile_function)
    def f(x):
        \"\"\"Another one.\"\"\"
        assert x
        for function in unrolled(functions):
            x = function(x)
        return x
    return f
"""


def test_a_source_is_read_when_a_compiler_asks_for_the_function(imported):
    module, path = imported(KERNEL)
    path.unlink()
    made = module.make((abs, int), lambda function: function)
    with pytest.raises(
        RuntimeError, match=r"make\.<locals>\.f \(.* has loops to be written out, and its source is not"
    ):
        made.compiled  # noqa: B018
    path.write_text(KERNEL)
    assert made.compiled(-2.5) == 2
    assert made.compiled is made.compiled


def test_compiled_functions_call_it(imported):
    module, _ = imported(KERNEL)
    function, negative = module.make((abs, abs), numba.njit), numba.njit(lambda x: -x)
    outer = numba.njit(lambda x: negative(function(x)))
    assert outer(-3) == -3


def test_numba_passes_on_why_a_function_cannot_be_written_out(imported):
    module, path = imported(KERNEL)
    path.unlink()
    function = module.make((abs,), numba.njit)
    with pytest.raises(RuntimeError, match="has loops to be written out, and its source is not at hand"):
        numba.njit(lambda x: function(x))(1)


CALL = "import ep_packed; print(ep_packed.make((abs, int), lambda function: function).compiled(-2.5))"


def run(folder, *options):
    command = [sys.executable, *options, "-c", CALL]
    return subprocess.run(command, env=environment_of([folder], {}), capture_output=True, text=True)


@pytest.mark.parametrize("options", [(), ("-OO",)])
def test_sources_in_an_archive_and_without_docstrings(tmp_path, options):
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("ep_packed.py", KERNEL)
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "ep_packed.py").write_text(KERNEL)
    for folder in (tmp_path / "packed.zip", tmp_path / "plain"):
        done = run(folder, *options)
        assert (done.stdout, done.stderr) == ("2\n", "")


def test_a_package_without_sources_says_what_it_needs(tmp_path):
    path = tmp_path / "ep_packed.py"
    path.write_text(KERNEL)
    py_compile.compile(str(path), cfile=str(path) + "c")
    path.unlink()
    done = run(tmp_path)
    assert done.stderr.splitlines()[-1].startswith("RuntimeError: make.<locals>.f (")
    assert done.stderr.splitlines()[-1].endswith("has loops to be written out, and its source is not at hand")
