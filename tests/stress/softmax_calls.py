"""Calls of the four softmaxes."""

import numpy as np

from ep.include import primitive as p
from ep.testing import softmaxes as softmax_tests
from tests.stress import draw
from tests.stress.call import Call, background
from tests.stress.movement_calls import more

_TESTED = {
    p.Softmax: softmax_tests.SOFTMAX,
    p.LogSoftmax: softmax_tests.LOG_SOFTMAX,
    p.SoftmaxBackward: softmax_tests.SOFTMAX_BACKWARD,
    p.LogSoftmaxBackward: softmax_tests.LOG_SOFTMAX_BACKWARD,
}


class RowCall(Call):
    def expected(self, device, primitive):
        """Return the bits of a launch on separate memory, after checking that it is within the promised error bound."""
        at, tested, (data_type,) = self.arguments, _TESTED[self.entry.interface], self.entry.dtypes
        rows, cols = int(at["rows"]), int(at["cols"])
        sources = [at[name][: rows * cols].reshape(rows, cols) for name in tested.operands]
        output = device.filled(rows * cols, data_type)
        primitive.Launch(device.stream, rows, cols, *map(device.buffer, sources), output)
        got = device.array(output)
        softmax_tests.check_close(device, tested, data_type, got.reshape(rows, cols), sources)
        return got


def row_call(rng, device, entry, most):
    tested, (data_type,) = _TESTED[entry.interface], entry.dtypes
    cols = draw.size(rng, most)
    rows = draw.size(rng, most // cols)
    if draw.chance(rng, 0.05):
        rows, cols = draw.pick(rng, ((0, cols), (rows, 0)))
    sources = tested.draw(rng, data_type, rows, cols, draw.pick(rng, (1, 5, 20)))
    if len(sources) == 1 and rows * cols and draw.chance(rng, 0.1):
        sources[0][int(rng.integers(rows)), int(rng.integers(cols))] = draw.pick(rng, (np.nan, np.inf, -np.inf))
    arguments = {"rows": draw.spelled(rng, rows), "cols": draw.spelled(rng, cols)}
    for name, source in zip(tested.operands, sources, strict=True):
        flat = source.reshape(-1)
        arguments[name] = np.concatenate([flat, flat[: more(rng)]])
    shared = draw.pick(rng, tested.operands) if draw.chance(rng, 0.3) else None
    arguments[tested.output] = arguments[shared] if shared else background(rows * cols + more(rng), data_type)
    return RowCall(entry, (), arguments, tested.output, shared)


MAKERS = dict.fromkeys(_TESTED, row_call)
