"""Models that packages carry: what they give beside ONNX Runtime, and what the packages make of that."""

import functools
import importlib.util
from pathlib import Path

import numpy as np
import onnx
import pytest

import ep.onnx


def normal(*shape, scale=1.0):
    """Return what makes an input of normal numbers."""
    return lambda rng: (scale * rng.standard_normal(shape)).astype(np.float32)


def constant(value):
    return lambda rng: np.array(value)


def frames(rows, samples, rate):
    return {"input": normal(rows, samples), "state": normal(2, rows, 128), "sr": constant(rate)}


SIXTEEN = frames(1, 576, 16000)
STATEFUL = {name: SIXTEEN[name] for name in ("input", "state")}

MODELS = {
    "magika/models/standard_v3_3/model.onnx": {"bytes": lambda rng: rng.integers(0, 257, (3, 2048)).astype(np.int32)},
    "silero_vad/data/silero_vad.onnx": SIXTEEN,
    "silero_vad/data/silero_vad.onnx at 8 kHz": frames(2, 288, 8000),
    "silero_vad/data/silero_vad_16k_op15.onnx": SIXTEEN,
    "silero_vad/data/silero_vad_half.onnx": STATEFUL,
    "silero_vad/data/silero_vad_op18_ifless.onnx": SIXTEEN,
    "silero_vad/data/silero_vad_openvino_16k.onnx": STATEFUL,
    "silero_vad/data/silero_vad_16k_sequence.onnx": {
        "input": normal(312, 576),
        "h": normal(1, 1, 128),
        "c": normal(1, 1, 128),
    },
    "basic_pitch/saved_models/icassp_2022/nmp.onnx": {"serving_default_input_2:0": normal(1, 43844, 1, scale=0.1)},
    "speechmos/dnsmos_models/sig_bak_ovr.onnx": {"input_1": normal(1, 144160, scale=0.1)},
    "speechmos/dnsmos_models/model_v8.onnx": {"input_1": normal(1, 900, 120)},
    "speechmos/aecmos_models/Run_1663829550_Stage_0.onnx": {"input": normal(1, 3, 57, 160), "h0": normal(4, 1, 64)},
    "speechmos/aecmos_models/Run_1663915512_Stage_0.onnx": {"input": normal(1, 3, 57, 160), "h0": normal(4, 1, 64)},
    "speechmos/plcmos_models/plcmos_v2.onnx": {"degraded_audio": normal(1, 1, 90, 257), "rater_embed": normal(1, 64)},
    "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx": {"x": normal(1, 3, 48, 192)},
    "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx": {"x": normal(1, 3, 48, 160)},
    "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx": {"x": normal(1, 3, 160, 224)},
}
"""Files of packages, and what makes their inputs."""


@functools.cache
def path_of(name):
    """Return the path of a file in a package, or skip the test where the package is not installed."""
    package, _, rest = name.split(" ")[0].partition("/")
    found = importlib.util.find_spec(package)
    if found is None:
        pytest.skip(f"the package {package.replace('_', '-')} is not installed: no model")
    return Path(found.submodule_search_locations[0]) / rest


def session_of(path):
    runtime = pytest.importorskip("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    return runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_those_of_onnx_runtime(rng, name):
    """No output is farther from ONNX Runtime's than 1e-5 of the largest."""
    path = path_of(name)
    inputs = {one: make(rng) for one, make in MODELS[name].items()}
    expected = session_of(path).run(None, inputs)
    for found, wanted in zip(ep.onnx.load(path).run(None, inputs), expected, strict=True):
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


def test_a_line_of_text_is_read():
    """The model that recognises text reads what was drawn, by the characters that its file lists."""
    path = path_of("rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx")
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
    """Return the probability of speech of each 512 samples, as the package silero-vad computes them."""
    state, context, found = np.zeros((2, 1, 128), np.float32), np.zeros((1, 64), np.float32), []
    for begin in range(0, len(signal), 512):
        chunk = np.concatenate([context, signal[None, begin : begin + 512]], 1)
        output, state = run({"input": chunk, "state": state, "sr": np.array(16000)})
        context = chunk[:, -64:]
        found.append(output.item())
    return np.array(found)


def voice(rng):
    """Return 2 s at 16 kHz: noise, then vowels of a voice whose pitch falls, then noise."""
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
    path, signal = path_of("silero_vad/data/silero_vad.onnx"), voice(rng)
    session, model = session_of(path), ep.onnx.load(path)
    expected = speech_probabilities(lambda inputs: session.run(None, inputs), signal)
    found = speech_probabilities(lambda inputs: model.run(None, inputs), signal)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert 5 < (expected > 0.5).sum() < 50
    np.testing.assert_array_equal(found > 0.5, expected > 0.5)
