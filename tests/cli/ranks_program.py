"""The program of every rank of a job: it runs commands of `ep`, each in a separate folder, and writes their output."""

import io
import json
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path

from ep.cli.main import main
from ep.mesh.world import world


def run(arguments: list[str]) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    return code, out.getvalue(), err.getvalue()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    os.chdir(folder / str(world().rank))
    commands = json.loads((folder / "commands.json").read_text())
    said = [world().from_all(partial(run, arguments), " ".join(arguments)) for arguments in commands]
    if world().rank == 0:
        (folder / "said.json").write_text(json.dumps(said))
