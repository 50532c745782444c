"""Check of a regression's target scale, and advice on scaling targets."""

import math

import numpy as np

_LARGEST, _LEAST_SPREAD = 20.0, 0.01  # Fine-tuning reaches targets from 0 to 5 and from 0 to 10.
_FAR = 3.0  # A mean further than this many spreads from 0 is an offset.


def scale_advice(values: np.ndarray) -> str:
    """Return how to scale targets that a model cannot reach, "" for usual targets.

    Args:
        values: targets of the training rows, float [n].
    """
    numbers = np.asarray(values, np.float64)
    least, most, spread = numbers.min(), numbers.max(), numbers.std()
    if least == most:
        return f"every training row has the number {_format(least)}, so there is nothing to learn"
    if max(abs(least), abs(most)) <= _LARGEST and spread >= _LEAST_SPREAD:
        return ""
    divisor = 10.0 ** round(math.log10(spread))
    offset = round(numbers.mean() / divisor) * divisor
    steps = [f"subtract {_format(offset)}"] if abs(offset) > _FAR * spread else []
    steps += [f"divide them by {_format(divisor)}"] if divisor != 1 else []
    return (
        f"the numbers to learn go from {_format(least)} to {_format(most)}, and an untrained "
        f"model predicts about 0: scale the targets ({' and '.join(steps)}), and the predictions "
        "back"
    )


def _format(number: float) -> str:
    return np.format_float_positional(float(f"{number:.7g}"), trim="-")
