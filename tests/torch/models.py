"""Models with random weights, in two sizes: small ones for tests, others as large as those that people run.

The architectures of transformers come from its configurations (tried with 5.24): no file is read.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from tests.torch import networks


class Model(NamedTuple):
    """A model, in a size: False is small, True large.

    make: returns the module, which gives one tensor. inputs: returns the arguments of a call, by a generator. loss:
    of a result. needs: the packages that it is made of, besides PyTorch.
    """

    make: Callable[[bool], nn.Module]
    inputs: Callable[[bool, torch.Generator], tuple[Any, ...]]
    loss: Callable[[torch.Tensor], torch.Tensor]
    needs: tuple[str, ...] = ()


def _classes(logits):
    """Return the loss of logits: every row has a class."""
    rows = logits.flatten(0, -2)
    return F.cross_entropy(rows, torch.arange(len(rows)) * 7 % rows.shape[-1])


def _squares(result):
    return result.float().square().mean()


def _images(small, large):
    return lambda is_large, generator: (torch.randn(large if is_large else small, generator=generator),)


def _tokens(small, large, kinds=(101, 101)):
    def inputs(is_large, generator):
        return (torch.randint(0, kinds[is_large], large if is_large else small, generator=generator),)

    return inputs


def _sequences(small, large, kinds):
    """Return the function of the inputs of an encoder: tokens, and a mask that hides the ends of some."""

    def inputs(is_large, generator):
        (tokens,) = _tokens(small, large, kinds)(is_large, generator)
        lengths = tokens.shape[1] - torch.arange(len(tokens)) % 3 * (tokens.shape[1] // 4)
        return tokens, (torch.arange(tokens.shape[1]) < lengths[:, None]).long()

    return inputs


class _Transformer(nn.Module):
    """A model of transformers that gives logits. names: of its inputs."""

    def __init__(self, kind, config, names):
        super().__init__()
        import transformers

        self.model = getattr(transformers, kind)(config)
        self.names = names
        self.options = {"use_cache": False} if hasattr(config, "use_cache") else {}

    def forward(self, *args):
        return self.model(**dict(zip(self.names, args, strict=True)), **self.options).logits


def _transformer(kind, config, names, small, large, **both):
    """Return the function that makes a model. kind, config: names of classes. small, large: the arguments of config."""

    def make(is_large):
        import transformers

        return _Transformer(kind, getattr(transformers, config)(**both, **(large if is_large else small)), names)

    return make


def _sizes(vocabulary, width, layers, heads, inner, **more):
    return {
        "vocab_size": vocabulary, "hidden_size": width, "num_hidden_layers": layers, "num_attention_heads": heads,
        "intermediate_size": inner, **more,
    }  # fmt: skip


_SMALL = _sizes(101, 24, 2, 4, 40)
_TOKENS = ("input_ids",)

TRANSFORMERS = {
    "bert": Model(
        _transformer(
            "BertForSequenceClassification", "BertConfig", ("input_ids", "attention_mask"),
            _SMALL, _sizes(30522, 384, 6, 12, 1536), num_labels=11,
        ),
        _sequences((3, 12), (8, 64), (101, 30522)), _classes,
    ),
    "gpt2": Model(
        _transformer(
            "GPT2LMHeadModel", "GPT2Config", _TOKENS,
            {"vocab_size": 101, "n_positions": 32, "n_embd": 24, "n_layer": 2, "n_head": 4},
            {"vocab_size": 5000, "n_positions": 256, "n_embd": 256, "n_layer": 4, "n_head": 8},
        ),
        _tokens((2, 11), (4, 64), (101, 5000)), _classes,
    ),
    "llama": Model(
        _transformer(
            "LlamaForCausalLM", "LlamaConfig", _TOKENS,
            _sizes(101, 24, 2, 4, 40, num_key_value_heads=2), _sizes(5000, 256, 4, 8, 688, num_key_value_heads=4),
        ),
        _tokens((2, 11), (4, 64), (101, 5000)), _classes,
    ),
    "t5": Model(
        _transformer(
            "T5ForConditionalGeneration", "T5Config", ("input_ids", "decoder_input_ids"),
            {"vocab_size": 101, "d_model": 24, "d_kv": 6, "d_ff": 40, "num_layers": 1, "num_heads": 4},
            {"vocab_size": 5000, "d_model": 256, "d_kv": 32, "d_ff": 1024, "num_layers": 4, "num_heads": 8},
            decoder_start_token_id=0,
        ),
        lambda is_large, generator: (
            *_tokens((2, 11), (4, 64), (101, 5000))(is_large, generator),
            *_tokens((2, 7), (4, 32), (101, 5000))(is_large, generator),
        ),
        _classes,
    ),
    "vit": Model(
        _transformer(
            "ViTForImageClassification", "ViTConfig", ("pixel_values",),
            {**_SMALL, "image_size": 24, "patch_size": 8},
            {**_sizes(0, 192, 6, 3, 768), "image_size": 112, "patch_size": 16}, num_labels=11,
        ),
        _images((2, 3, 24, 24), (4, 3, 112, 112)), _classes,
    ),
    "whisper": Model(
        _transformer(
            "WhisperForConditionalGeneration", "WhisperConfig", ("input_features", "decoder_input_ids"),
            {"vocab_size": 101, "d_model": 24, "encoder_layers": 1, "decoder_layers": 1, "num_mel_bins": 8,
             "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 40, "decoder_ffn_dim": 40,
             "max_source_positions": 12},
            {"vocab_size": 5000, "d_model": 256, "encoder_layers": 3, "decoder_layers": 3, "num_mel_bins": 80,
             "encoder_attention_heads": 8, "decoder_attention_heads": 8, "encoder_ffn_dim": 1024,
             "decoder_ffn_dim": 1024, "max_source_positions": 100},
            max_target_positions=32, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
            suppress_tokens=None, begin_suppress_tokens=None,
        ),
        lambda is_large, generator: (
            *_images((2, 8, 24), (2, 80, 200))(is_large, generator),
            *_tokens((2, 7), (2, 24), (101, 5000))(is_large, generator),
        ),
        _classes,
    ),
    "mixtral": Model(
        _transformer(
            "MixtralForCausalLM", "MixtralConfig", _TOKENS,
            _sizes(101, 24, 2, 4, 40, num_key_value_heads=2, num_local_experts=4),
            _sizes(5000, 256, 2, 8, 512, num_key_value_heads=4, num_local_experts=4),
        ),
        _tokens((2, 11), (4, 64), (101, 5000)), _classes,
    ),
}  # fmt: skip
"""The models of transformers."""

NETWORKS = {
    "perceptron": Model(
        lambda is_large: networks.Perceptron((24, 256)[is_large]), _images((5, 24), (64, 256)), _classes
    ),
    "resnet18": Model(
        lambda is_large: networks.ResNet18((4, 64)[is_large]), _images((4, 3, 64, 64), (2, 3, 128, 128)), _classes
    ),
    "depthwise": Model(
        lambda is_large: networks.Depthwise((8, 24)[is_large], (1, 4)[is_large]),
        _images((3, 3, 20, 28), (4, 3, 96, 96)), _classes,
    ),
    "unet": Model(lambda is_large: networks.UNet((8, 32)[is_large]), _images((2, 3, 12, 20), (2, 3, 64, 64)), _squares),
    "lstm": Model(
        lambda is_large: networks.Recurrent(nn.LSTM, (8, 64)[is_large], False), _tokens((3, 5), (8, 20)), _classes
    ),
    "gru": Model(
        lambda is_large: networks.Recurrent(nn.GRU, (8, 64)[is_large], True), _tokens((3, 5), (8, 20)), _classes
    ),
    "edits": Model(lambda is_large: networks.Edits((13, 256)[is_large]), _images((5, 13), (64, 256)), _squares),
}  # fmt: skip
"""The models of `networks`."""

MODELS = {**{name: one._replace(needs=("transformers",)) for name, one in TRANSFORMERS.items()}, **NETWORKS}
"""All models, by name."""
