"""The training of a real model by PyTorch's eager mode and by ep."""

import re

import numpy as np
import pytest

from tests.examples.test_encoder import with_weights
from tests.examples.test_encoder_head import TRAINING


@with_weights
@pytest.mark.ep_long
def test_losses_are_those_of_eager(capsys, tmp_path):
    for package, extra in (("torch", "torch"), ("tokenizers", "examples"), ("transformers", "bench")):
        pytest.importorskip(package, reason=f"{package} is not installed; the extra `{extra}` has it")
    from examples import finetune  # here, because it takes seconds, and most workers do not need it

    (tmp_path / "labelled.tsv").write_text(TRAINING)
    finetune.main([str(tmp_path / "labelled.tsv"), "--steps", "3"])
    out = capsys.readouterr().out
    losses = np.array(re.findall(r"^ +\d+ +([\d.]+) +([\d.]+)$", out, re.M), float)
    assert losses.shape == (3, 2)
    assert losses[-1, 0] < losses[0, 0]
    np.testing.assert_allclose(losses[:, 1], losses[:, 0], rtol=1e-5, atol=2e-6)
    assert re.findall(r"^(\w+): first step [\d.]+ s, then \d+ ms a step$", out, re.M) == ["eager", "ep"]
