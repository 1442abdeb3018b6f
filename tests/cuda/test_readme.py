"""The README's example of the CUDA device."""

import re
from pathlib import Path

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


def test_the_readmes_example_runs(cuda):
    section = README.partition("\n## On a GPU\n")[2].partition("\n## ")[0]
    (example,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
