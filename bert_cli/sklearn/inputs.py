"""Texts as scikit-learn passes them, and errors as its users expect them."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from bert_cli.api.inputs.texts import Texts, read_texts_argument
from bert_cli.base.errors import InputError

# Argument of the Python API -> parameter of scikit-learn's, where the names differ.
_PARAMETERS = {"random_seed": "random_state", "class_weights": "class_weight"}


class TextEstimator(BaseEstimator):
    """Base class for estimators with texts as input, and a parameter `options`."""

    options: Mapping[str, Any] | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    def _with_options(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return arguments together with `options`; raise ValueError for a name in both."""
        options = {} if self.options is None else self.options
        if not isinstance(options, Mapping):
            raise ValueError(f"options: a dict of arguments by name is needed, found {options!r:.80}")
        for name in options:
            if name in arguments:
                parameter = _PARAMETERS.get(name, name)
                is_parameter = parameter in self.get_params(deep=False)
                advice = f"use the parameter {parameter} instead" if is_parameter else "fit chooses it; leave it out"
                raise ValueError(f"options[{name!r}]: {advice}")
        return {**arguments, **options}


def text_column(values: Any) -> Texts:
    """Return the texts in an argument, see `flat_column`."""
    with value_errors():
        return read_texts_argument(flat_column(values))


def flat_column(values: Any) -> Any:
    """Return an array [n, 1], as ColumnTransformer passes it, as [n], and other values unchanged."""
    is_column = isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] == 1
    return values[:, 0] if is_column else values


@contextlib.contextmanager
def value_errors() -> Iterator[None]:
    """Raise ValueError if the block raises InputError, as scikit-learn's users expect."""
    try:
        yield
    except InputError as error:
        raise ValueError(str(error).replace("random_seed", "random_state")) from None
