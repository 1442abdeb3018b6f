"""python -m examples.encoder: similarities of sentences, lines of a text nearest to a query, classes of sentences."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from ep import DeviceType, ops
from examples.encoder import model
from examples.encoder.head import Head, labelled_lines
from examples.encoder.search import Index, lines_of


def main(given: list[str] | None = None) -> int:
    """Run the command; return 1 if a package or a file is missing."""
    parser = argparse.ArgumentParser(prog="python -m examples.encoder", description=__doc__)
    parser.add_argument("sentence", nargs="*", help="two or more: each is compared with each")
    parser.add_argument("--file", type=Path, metavar="TEXT", help="a text whose lines are searched")
    parser.add_argument(
        "--train", type=Path, metavar="TSV", help="lines of a class, a tab and a sentence; sorts sentences"
    )
    parser.add_argument("--query", action="append", help="what to look for in its lines; without it, asks for queries")
    parser.add_argument("--device", default="cpu", help="such as cuda (default: cpu)")
    parser.add_argument("--otherwise", metavar="DEVICE", help="computes what the first has no kernels for")
    arguments = parser.parse_args(given)
    if (arguments.file is None) == (not arguments.sentence):
        parser.error("either sentences, or --file")
    if len(arguments.sentence) == 1 and not arguments.train:
        parser.error("one sentence has none to be compared with: two at least")
    console = Console()
    try:
        encoder = model.Model(DeviceType.FromTag(arguments.device), arguments.otherwise)
        if arguments.file:
            _search(console, encoder, arguments.file, arguments.query)
        elif arguments.train:
            _classify(console, encoder, arguments.train, arguments.sentence)
        else:
            _compare(console, encoder, arguments.sentence)
    except (OSError, ImportError, ValueError, RuntimeError) as error:
        print(f"examples.encoder: {error}", file=sys.stderr)
        return 1
    return 0


def _compare(console: Console, encoder: model.Model, sentences: list[str]) -> None:
    vectors = encoder.encode(sentences)
    similarities = ops.matmul(vectors, vectors, transpose_x2=True)
    table = Table("", box=None)
    for number in range(1, len(sentences) + 1):
        table.add_column(str(number), justify="right")
    for number, (sentence, row) in enumerate(zip(sentences, similarities, strict=True), 1):
        table.add_row(Text(f"{number} {sentence}"), *(f"{similarity:.3f}" for similarity in row))
    console.print(table)


def _classify(console: Console, encoder: model.Model, path: Path, sentences: list[str]) -> None:
    """Train a head on the sentences in a file, and print the classes of others."""
    labelled = labelled_lines(path)
    names = sorted({name for name, _ in labelled})
    vectors = encoder.encode([sentence for _, sentence in labelled])
    head = Head(vectors.shape[1], len(names))
    losses = head.train(vectors, [names.index(name) for name, _ in labelled])
    console.print(
        f"{len(labelled)} sentences of {len(names)} classes: the loss fell from {losses[0]:.3f} to {losses[-1]:.3f}"
    )
    for sentence, found in zip(sentences, head.classes(encoder.encode(sentences)), strict=True):
        console.print(f"{names[found]}  {sentence}", highlight=False, markup=False)


def _search(console: Console, encoder: model.Model, path: Path, queries: list[str] | None) -> None:
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        index = Index(encoder, lines_of(path), progress)
    if not index.lines:
        raise ValueError(f"{path} has no lines to search")
    console.print(f"{len(index.lines)} lines")
    for query in queries if queries is not None else _asked(console):
        console.print(Text(query, style="bold"))
        for similarity, line in index.nearest(query):
            console.print(f"{similarity:.3f}  {line}", highlight=False, markup=False)


def _asked(console: Console):  # type: ignore[no-untyped-def]
    while True:
        try:
            yield console.input("search for: ")
        except (EOFError, KeyboardInterrupt):
            return


if __name__ == "__main__":
    sys.exit(main())
