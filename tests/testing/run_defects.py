"""Run tests of the suite on defective copies of a device's package, each a separate device type in this process.

python -m tests.testing.run_defects FOLDER PACKAGE < defects.json: FOLDER holds the package. Each defect is a list of
name, module, old and new text, test module and -k. The last line of the output is a list of exit codes of pytest: for
the device without defects, and for each defect.
"""

import contextlib
import importlib
import io
import json
import re
import sys
from pathlib import Path

import pytest

from ep.testing import patience


def install(package: Path, number: int, module: str = "", old: str = "", new: str = "") -> str:
    """Write a copy of the package, with one text replaced, import it, and return the tag of its device type."""
    name, tag = f"{package.name}_{number}", ""
    (package.parent / name).mkdir()
    for path in package.glob("*.py"):
        text = path.read_text()
        if path.stem == module:
            assert text.count(old) == 1, (module, old)
            text = text.replace(old, new)
        if found := re.search(r'DeviceType.Register\("(\w+)", "(\w+)"\)', text):
            tag = f"{found[2]}{number}"
            text = text.replace(found[0], f'DeviceType.Register("{found[1]}{number}", "{tag}")')
        (package.parent / name / path.name).write_text(text.replace(package.name, name))
    importlib.invalidate_caches()
    for path in package.glob("*.py"):
        importlib.import_module(f"{name}.{path.stem}".removesuffix(".__init__"))
    return tag


def code_of(tag: str, module: str, names: str, *expected: int) -> int:
    """Return the exit code of pytest for tests of a module; print its output if the code is not the expected one."""
    options = ["-q", "-x", "-p", "ep.testing.plugin", "-p", "no:cacheprovider", "-p", "no:xdist"]
    options.append("--ep-every-case")  # the case that shows a defect is not always among a sample
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = int(pytest.main([*options, "--pyargs", module, "-k", names, "--ep-device", tag]))
    if code not in expected:
        print(said.getvalue(), file=sys.stderr)
    return code


def main() -> None:
    """Install and test one device after the other."""
    package, defects = Path(sys.argv[1], sys.argv[2]), json.load(sys.stdin)
    sys.path.insert(0, str(package.parent))
    sound = install(package, 0)
    codes = [max(code_of(sound, *tests, 0) for tests in sorted({(defect[4], defect[5]) for defect in defects}))]
    patience.seconds = 5.0  # some defects stop the device
    for number, (_, source, old, new, *tests) in enumerate(defects, 1):
        codes.append(code_of(install(package, number, source, old, new), *tests, 0, 1))
    print(json.dumps(codes))


if __name__ == "__main__":
    main()
