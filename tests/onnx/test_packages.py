"""Models that packages contain: their outputs compared with ONNX Runtime's, and the packages' results from these
outputs.
"""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

import ep.onnx
from benchmarks import models, runtimes
from examples import file_types
from examples.encoder import model as encoder

ITS_SIGMOID = 1e-7
"""ONNX Runtime's Sigmoid of -10 has a relative error of 2e-4; ours is within 1e-7 of the exact value."""


def path_of(package, file):
    """Return the path of a model of the benchmarks, or skip the test if its package is not installed."""
    model = next(one for one in models.MODELS if (one.package, one.file) == (package, file))
    return model.path() or pytest.skip(f"the package {package} is not installed: no model")


def test_each_package_is_listed():
    lines = (Path(__file__).parents[1] / "models.txt").read_text().splitlines()
    names = {line.partition("==")[0].replace("-", "_") for line in lines if not line.startswith("#")}
    assert {*(one.package for one in models.MODELS), encoder.PACKAGE, file_types.PACKAGE} == names


def session_of(path):
    pytest.importorskip("onnxruntime")
    return runtimes.session_of(path, 1)


@pytest.mark.parametrize("model", models.MODELS, ids=lambda one: one.what)
def test_outputs_are_those_of_onnx_runtime(rng, model):
    """Outputs differ from ONNX Runtime's by at most 1e-5 of the largest one, plus the error of its Sigmoid."""
    path, inputs = path_of(model.package, model.file), model.inputs(rng)
    expected = session_of(path).run(None, inputs)
    for found, wanted in zip(ep.onnx.load(path).run(None, inputs), expected, strict=True):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found, wanted, 0, 1e-5 * np.abs(wanted).max() + ITS_SIGMOID)


def widened(array):
    """Return an array whose float32 numbers are float64 numbers."""
    return array.astype(np.float64) if array.dtype == np.float32 else array


def widen(graph):
    """Change a graph, and the branches in it, to compute in float64 what it computes in float32."""
    tensors = [*graph.initializer]
    for node in graph.node:
        for one in node.attribute:
            if one.name in ("to", "dtype") and one.i == TensorProto.FLOAT:
                one.i = TensorProto.DOUBLE
            if one.type == one.TENSOR:
                tensors.append(one.t)
            if one.type == one.GRAPH:
                widen(one.g)
    for tensor in tensors:
        tensor.CopyFrom(numpy_helper.from_array(widened(numpy_helper.to_array(tensor)), tensor.name))
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE


def check_nearness(path, inputs, factor=4.0):
    """Check that outputs are as near to those in float64 as ONNX Runtime's are.

    At most `factor` times as far, since which rounding errors add up is chance, or 8 ulp of the largest number.
    """
    wide = onnx.load(path)
    widen(wide.graph)
    exact = ep.onnx.load(wide).run(None, {name: widened(np.asarray(one)) for name, one in inputs.items()})
    found, others = ep.onnx.load(path).run(None, inputs), session_of(path).run(None, inputs)
    for ours, other, wanted in zip(found, others, exact, strict=True):
        assert wanted.dtype == np.float64
        bound = max(factor * np.abs(other - wanted).max(), 2.0**-20 * np.abs(wanted).max())
        np.testing.assert_allclose(ours, wanted, 0, bound)


@pytest.mark.parametrize("model", models.MODELS, ids=lambda one: one.what)
def test_outputs_are_as_near_to_exact_ones_as_those_of_onnx_runtime(rng, model):
    check_nearness(path_of(model.package, model.file), model.inputs(rng))


def test_variances_that_cancel(rng):
    """Of bytes that are 0 or 1: there ONNX Runtime is 40 to 300 times as far from the exact outputs."""
    path = path_of("magika", "models/standard_v3_3/model.onnx")
    check_nearness(path, {"bytes": rng.integers(0, 2, (1, 2048)).astype(np.int32)}, 0.1)


def test_a_line_of_text_is_read():
    """The text-recognition model reads the drawn line, with the characters that its file lists."""
    path = path_of("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx")
    image, draw, font = (pytest.importorskip(f"PIL.{one}") for one in ("Image", "ImageDraw", "ImageFont"))
    (characters,) = [one.value for one in onnx.load(path).metadata_props if one.key == "character"]
    letters = ["", *characters.splitlines(), " "]
    model = ep.onnx.load(path)
    for text in ("Execution 2026", "gather, expand, matmul"):
        face = font.load_default(size=32)
        picture = image.new("RGB", (int(face.getlength(text)) + 24, 48), "white")
        draw.Draw(picture).text((12, 4), text, "black", face)
        pixels = np.asarray(picture, np.float32).transpose(2, 0, 1)[None] / 127.5 - 1
        (scores,) = model(x=pixels)
        places = scores[0].argmax(-1)
        read = [letters[one] for one, before in zip(places, [0, *places[:-1]], strict=True) if one not in (0, before)]
        assert "".join(read).strip() == text


def speech_probabilities(run, signal):
    """Return the probability of speech for each 512 samples, as the package silero-vad computes it."""
    state, context, found = np.zeros((2, 1, 128), np.float32), np.zeros((1, 64), np.float32), []
    for begin in range(0, len(signal), 512):
        chunk = np.concatenate([context, signal[None, begin : begin + 512]], 1)
        output, state = run({"input": chunk, "state": state, "sr": np.array(16000)})
        context = chunk[:, -64:]
        found.append(output.item())
    return np.array(found)


def voice(rng):
    """Return 2 s of sound at 16 kHz: noise, then vowels of a voice with falling pitch, then noise."""
    time = np.arange(16000) / 16000
    pitch = 2 * np.pi * np.cumsum(150 - 40 * time + 6 * np.sin(2 * np.pi * 5 * time)) / 16000
    formants = np.where((time % 0.4 < 0.2)[:, None], [730, 1090, 2440], [270, 2290, 3010])
    spoken = np.zeros_like(time)
    for k in range(1, 30):
        loudness = (1 / (1 + ((k * 130 - formants) / 90) ** 2)).sum(1)
        spoken += loudness * np.sin(k * pitch)
    spoken *= np.abs(np.sin(2 * np.pi * 2.5 * time)) ** 0.5
    signal = 0.002 * rng.standard_normal(2 * 16000)
    signal[8000:24000] += 0.3 * spoken / np.abs(spoken).max()
    return signal[: 62 * 512].astype(np.float32)


def test_speech_is_found_in_the_same_frames(rng):
    path, signal = path_of("silero_vad", "data/silero_vad.onnx"), voice(rng)
    session, model = session_of(path), ep.onnx.load(path)
    expected = speech_probabilities(lambda inputs: session.run(None, inputs), signal)
    found = speech_probabilities(lambda inputs: model.run(None, inputs), signal)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert 5 < (expected > 0.5).sum() < 50
    np.testing.assert_array_equal(found > 0.5, expected > 0.5)
