"""Metrics that the user names: functions in Python, of the user or of scikit-learn."""

import contextlib
import importlib
import importlib.util
import inspect
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from bert_cli.base.errors import InputError, first_line, refuse_if

# Second parameters of scikit-learn's functions that take probabilities instead of labels.
_SCORE_NAMES = ("y_score", "y_prob", "y_proba", "probabilities", "probas_pred")
# Functions of scikit-learn that call their probabilities y_pred.
_OF_PROBABILITIES = ("log_loss", "d2_log_loss_score")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


CallersMetrics = Mapping[str, Callable[..., Any]]  # name -> function, an argument in Python


class MetricArrays(NamedTuple):
    """Arguments of metrics for n rows.

    Attributes:
        labels: label numbers [n], 0 and 1 per label [n, L], or numbers [n].
        predictions: the same for the model's decisions.
        probabilities: float [n, L]; None for a regression.
    """

    labels: np.ndarray
    predictions: np.ndarray
    probabilities: np.ndarray | None = None


class CustomMetric(NamedTuple):
    """A metric of the user.

    Attributes:
        name: name in eval_results.txt.
        source: the flag or argument that names it, for messages.
        function: function from labels, predictions and perhaps probabilities to a number.
    """

    name: str
    source: str
    function: Callable[..., Any]

    def measure(self, arrays: MetricArrays, weights: np.ndarray | None = None) -> float:
        """Return the metric's value; raise InputError if the function fails.

        Args:
            arrays: the rows.
            weights: the rows' weights, for the argument sample_weight; None for equal ones.
        """
        parameters = _parameters(self.function)
        keywords = {} if weights is None else {"sample_weight": weights}
        has_weights = "sample_weight" in parameters or not parameters
        refuse_if(
            weights is not None and not has_weights,
            f"{self.source}: has no argument sample_weight, which --weighted_metrics needs",
        )
        try:
            return float(self.function(*_arguments(self.function, parameters, arrays), **keywords))
        except Exception as error:
            raise InputError(f"{self.source}: {type(error).__name__}: {first_line(error)}") from error

    def measure_sample(self, arrays: MetricArrays, weights: np.ndarray | None = None) -> float | None:
        """Return the value for some rows, as `measure` does, and None if they do not define it.

        For example, scikit-learn's roc_auc_score fails or warns if all rows have the same label.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value = self.measure(arrays, weights)
            except InputError:
                return None
        return value if math.isfinite(value) else None


def load_metrics(texts: Sequence[str]) -> tuple[CustomMetric, ...]:
    """Import the functions of --metric; raise InputError for one that does not exist."""
    return tuple(map(_load_metric, texts))


def metrics_of_functions(functions: CallersMetrics) -> tuple[CustomMetric, ...]:
    """Return metrics of Python functions by name; raise InputError for other values."""
    for name, function in functions.items():
        is_name = isinstance(name, str) and re.fullmatch(r"\w+", name)
        refuse_if(not is_name, f"metrics: {name!r}: a name of letters, digits and _ is needed")
        refuse_if(not callable(function), f"metrics[{name!r}]: a function is needed, not {type(function).__name__}")
    return tuple(
        CustomMetric(f"eval_{name.removeprefix('eval_')}", f"metrics[{name!r}]", function)
        for name, function in functions.items()
    )


def check_metric_names(metrics: Sequence[CustomMetric], known_names: Collection[str]) -> None:
    """Raise InputError for a metric with the name of another one."""
    names = set(known_names)
    for metric in metrics:
        refuse_if(
            metric.name in names, f"{metric.source}: {metric.name} is reported already; give the function another name"
        )
        names.add(metric.name)


def _load_metric(text: str) -> CustomMetric:
    source = f"--metric={text}"
    module_name, _, function_name = text.rpartition(":")
    if not module_name or not function_name.isidentifier():
        raise InputError(f"{source}: MODULE:FUNCTION is needed, such as sklearn.metrics:matthews_corrcoef")
    module = _import(module_name, source)
    function = getattr(module, function_name, None)
    if not callable(function):
        raise InputError(f"{source}: {module_name} has no function {function_name}")
    return CustomMetric(f"eval_{function_name.removeprefix('eval_')}", source, function)


def _import(name: str, source: str) -> ModuleType:
    """Return a module, by its name or by a path that ends in .py."""
    is_path = name.endswith(".py")
    refuse_if(is_path and not os.path.isfile(name), f"{source}: {name} does not exist")
    refuse_if(not is_path and not re.fullmatch(r"\w+(\.\w+)*", name), f"{source}: {name!r} is no name of a module")
    with _searching(os.path.dirname(os.path.abspath(name)) if is_path else os.getcwd()):
        try:
            return _import_file(name) if is_path else importlib.import_module(name)
        except Exception as error:
            raise InputError(f"{source}: {type(error).__name__}: {first_line(error)}") from error


def _import_file(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(os.path.basename(path).removesuffix(".py"), path)
    assert spec is not None, "the path ends in .py"
    assert spec.loader is not None, "as does the path of every module in Python"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextlib.contextmanager
def _searching(directory: str) -> Iterator[None]:
    """Let imports also search a directory, after all installed packages."""
    sys.path.append(directory)
    try:
        yield
    finally:
        sys.path.remove(directory)


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    """Return a function's parameters; {} for a function in C, which has no signature."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def _arguments(
    function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter], arrays: MetricArrays
) -> tuple[np.ndarray | None, ...]:
    """Return all three arrays, or the two that a function with two arguments takes."""
    positional = [parameter for parameter in parameters.values() if parameter.kind in _POSITIONAL]
    empty = inspect.Parameter.empty
    required = [parameter for parameter in positional if parameter.default is empty]
    takes_three = len(required) > 2 or (len(positional) > 2 and positional[2].name in _SCORE_NAMES)
    kinds = {parameter.kind for parameter in parameters.values()}
    if takes_three or inspect.Parameter.VAR_POSITIONAL in kinds:
        return tuple(arrays)
    is_score = len(positional) > 1 and positional[1].name in _SCORE_NAMES
    if not is_score and getattr(function, "__name__", "") not in _OF_PROBABILITIES:
        return arrays[:2]
    if arrays.probabilities is None:
        return arrays[:2]
    # With two labels, scikit-learn takes the probability of label 1 alone.
    is_binary = arrays.labels.ndim == 1 and arrays.probabilities.shape[1] == 2
    return arrays.labels, arrays.probabilities[:, 1] if is_binary else arrays.probabilities
