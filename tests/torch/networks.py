"""Networks of PyTorch's own modules, of any size: convolutions, recurrent networks, in-place updates."""

import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    """Two layers, with the same parameters each time."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.a, self.b = nn.Linear(7, 11), nn.Linear(11, 5)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


class Perceptron(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.norm = nn.Linear(width, 4 * width), nn.LayerNorm(4 * width)
        self.last, self.dropout = nn.Linear(4 * width, 11), nn.Dropout(0.2)

    def forward(self, x):
        return self.last(self.dropout(self.norm(F.gelu(self.first(x)))))


def _with_norm(convolution):
    return nn.Sequential(convolution, nn.BatchNorm2d(convolution.out_channels))


class _Residual(nn.Module):
    def __init__(self, channels, more, stride):
        super().__init__()
        self.first = _with_norm(nn.Conv2d(channels, more, 3, stride, 1, bias=False))
        self.second = _with_norm(nn.Conv2d(more, more, 3, 1, 1, bias=False))
        same = stride == 1 and channels == more
        self.short = nn.Identity() if same else _with_norm(nn.Conv2d(channels, more, 1, stride, bias=False))

    def forward(self, x):
        return F.relu(self.second(F.relu(self.first(x))) + self.short(x))


class ResNet18(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stem = _with_norm(nn.Conv2d(3, width, 7, 2, 3, bias=False))
        self.pool = nn.MaxPool2d(3, 2, 1)
        channels, blocks = width, []
        for k in range(4):
            more = width << k
            blocks += [_Residual(channels, more, 1 if k == 0 else 2), _Residual(more, more, 1)]
            channels = more
        self.blocks, self.last = nn.Sequential(*blocks), nn.Linear(channels, 11)

    def forward(self, x):
        x = self.blocks(self.pool(F.relu(self.stem(x))))
        return self.last(F.adaptive_avg_pool2d(x, 1).flatten(1))


class _Separable(nn.Module):
    """A depthwise convolution between two of one place, with channels that are weighted by what all places hold."""

    def __init__(self, channels, more, stride):
        super().__init__()
        wide = 3 * channels
        self.widen = _with_norm(nn.Conv2d(channels, wide, 1, bias=False))
        self.depthwise = _with_norm(nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False))
        self.squeeze, self.excite = nn.Conv2d(wide, channels, 1), nn.Conv2d(channels, wide, 1)
        self.narrow = _with_norm(nn.Conv2d(wide, more, 1, bias=False))
        self.is_residual = stride == 1 and channels == more

    def forward(self, x):
        y = F.silu(self.depthwise(F.hardswish(self.widen(x))))
        y = y * F.hardsigmoid(self.excite(F.relu6(self.squeeze(y.mean((2, 3), keepdim=True)))))
        y = self.narrow(y)
        return x + y if self.is_residual else y


class Depthwise(nn.Module):
    def __init__(self, width, blocks):
        super().__init__()
        self.stem = _with_norm(nn.Conv2d(3, width, 3, 2, 1, bias=False))
        sizes = [(width, width, 1), (width, 2 * width, 2), *[(2 * width, 2 * width, 1)] * blocks]
        self.blocks, self.last = nn.Sequential(*(_Separable(*one) for one in sizes)), nn.Linear(2 * width, 11)

    def forward(self, x):
        return self.last(self.blocks(F.hardswish(self.stem(x))).mean((2, 3)))


class _Level(nn.Module):
    def __init__(self, channels, more):
        super().__init__()
        self.first, self.second = nn.Conv2d(channels, more, 3, 1, 1), nn.Conv2d(more, more, 3, 1, 1)
        self.norms = nn.ModuleList([nn.GroupNorm(4, channels), nn.GroupNorm(4, more)])
        self.short = nn.Conv2d(channels, more, 1)

    def forward(self, x):
        y = self.first(F.silu(self.norms[0](x)))
        return self.short(x) + self.second(F.silu(self.norms[1](y)))


class UNet(nn.Module):
    """Levels at full, half and quarter size; the way back resizes, once to the nearest element, once linearly."""

    def __init__(self, width):
        super().__init__()
        self.stem, self.last = nn.Conv2d(3, width, 3, 1, 1), nn.Conv2d(width, 3, 3, 1, 1)
        self.down = nn.ModuleList([_Level(width, width), _Level(width, 2 * width), _Level(2 * width, 2 * width)])
        self.up = nn.ModuleList([_Level(4 * width, width), _Level(2 * width, width)])

    def forward(self, x):
        full = self.down[0](self.stem(x))
        half = self.down[1](F.avg_pool2d(full, 2))
        quarter = self.down[2](F.avg_pool2d(half, 2))
        y = torch.cat([F.interpolate(quarter, scale_factor=2, mode="nearest"), half], 1)
        y = self.up[0](y)
        y = F.interpolate(y, scale_factor=2, mode="bilinear", align_corners=False)
        return self.last(self.up[1](torch.cat([y, full], 1)))


class Recurrent(nn.Module):
    """A network that reads tokens. kind: `nn.LSTM` or `nn.GRU`."""

    def __init__(self, kind, width, both_ways):
        super().__init__()
        self.table = nn.Embedding(101, width)
        self.steps = kind(width, 2 * width, batch_first=True, bidirectional=both_ways)
        self.last = nn.Linear(2 * width * (1 + both_ways), 11)

    def forward(self, tokens):
        return self.last(self.steps(self.table(tokens))[0][:, -1])


class Edits(nn.Module):
    """A program that writes to its values: in place, to slices, by indices, in sorted order, from the largest on."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, width) / width**0.5)
        self.register_buffer("seen", torch.zeros(width))

    def forward(self, x):
        self.seen += x.detach().mean(0)
        y = torch.tanh(x @ self.weight) * 1.5
        y[:, ::2] = y[:, ::2] * 2
        y[1:3].add_(1)
        largest, where = y.topk(5, -1)
        ordered, order = torch.sort(y, -1, descending=True)
        rows = torch.arange(len(x))[:, None]
        y = y.index_put((rows, where), largest.exp(), accumulate=True)
        y = y.scatter_add(1, order[:, :7], ordered[:, :7])
        y = torch.where(y > y.mean(-1, keepdim=True), y, y.cumsum(-1) * 0.1)
        return y.masked_fill(order == 0, 0.5) + self.seen
