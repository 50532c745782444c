"""Texts for scikit-learn's checks of estimators, which call an estimator with numbers."""

import numpy as np
from sklearn.utils.validation import validate_data

WORDS = [f"w{number}" for number in range(60)]
NUM_COLUMNS, NUM_LEVELS = 10, 6  # a text has a word per column, with a number's level


class NumbersAsTexts:
    """Tags of an estimator that gets rows of numbers, which it turns into texts."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.input_tags.one_d_array = False
        tags.input_tags.string = False
        return tags


def to_texts(estimator, numbers, reset):
    """Return a text per row of numbers, after scikit-learn's own checks of arrays."""
    numbers = validate_data(estimator, numbers, reset=reset)
    levels = np.clip(np.floor(numbers[:, :NUM_COLUMNS].astype(float) * 2 + NUM_LEVELS / 2), 0, NUM_LEVELS - 1)
    words = np.arange(levels.shape[1]) * NUM_LEVELS + levels.astype(int)
    return [" ".join(f"w{word}" for word in row) for row in words.tolist()]
