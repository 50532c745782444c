"""Classifier and regressor with the interface of scikit-learn."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from bert_cli.api.classifier import Classifier
from bert_cli.api.results.predictions import Predictions
from bert_cli.base.log import warn_once
from bert_cli.features.packing import CutCounts
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.multi_label import MULTI_LABEL
from bert_cli.problem_types.regression import REGRESSION
from bert_cli.sklearn.inputs import TextEstimator, text_column, value_errors


def _warn_of_cuts(cuts: CutCounts, max_tokens: int) -> None:
    """Warn once per process about cut texts: a search predicts dozens of times."""
    if cuts.num_cut_texts:
        warn_once(f"warning: texts of more than {max_tokens} tokens are cut; max_seq_length is the limit")


class _BertEstimator(TextEstimator):
    """Base class for the estimators; see BertClassifier for the parameters."""

    def __init__(
        self,
        init_checkpoint: str | None = None,
        *,
        num_train_epochs: float | None = None,
        learning_rate: float | None = None,
        train_batch_size: int | None = None,
        max_seq_length: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        options: Mapping[str, Any] | None = None,
    ):
        self.init_checkpoint = init_checkpoint
        self.num_train_epochs = num_train_epochs
        self.learning_rate = learning_rate
        self.train_batch_size = train_batch_size
        self.max_seq_length = max_seq_length
        self.random_state = random_state
        self.verbose = verbose
        self.options = options

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _fit(self, texts: object, labels: Any, sample_weight: Any, options: Mapping[str, Any]) -> Self:
        """Train on texts and labels, and set `model_`."""
        names = ("init_checkpoint", "num_train_epochs", "learning_rate", "train_batch_size", "max_seq_length")
        values = {name: getattr(self, name) for name in names}
        seed = self.random_state
        if isinstance(seed, np.random.RandomState):
            seed = check_random_state(seed).randint(2**31 - 1)
        values["random_seed"] = seed
        given_values = {name: value for name, value in values.items() if value is not None}
        data = {"texts": texts, "labels": labels, "sample_weight": sample_weight}
        # In a notebook, a search would show a progress line per fit.
        watching = {"verbose": None if self.verbose else 0}
        with value_errors():
            self.model_ = Classifier.fit(**self._with_options({**data, **watching, **given_values, **options}))
        self.model_.on_cut = _warn_of_cuts
        return self

    def _predictions(self, texts: object) -> Any:
        check_is_fitted(self, "model_")
        with value_errors():
            return self.model_.predict(text_column(texts))


class BertClassifier(ClassifierMixin, _BertEstimator):
    """Text classifier for scikit-learn.

    The parameters are flags of bert-classify. A search changes other flags as a whole, with a grid
    over `options`, such as {"options": [{}, {"freeze_encoder": True}]}.

    Args:
        init_checkpoint: model to train; None for the built-in one.
        num_train_epochs: passes over the training data; None for 3.0, or 4.0 for a small model.
        learning_rate: highest learning rate; None for 5e-5, or up to 3e-4 for a small model.
        train_batch_size: texts per training step; None for 32.
        max_seq_length: maximum length in tokens; longer texts are cut; None for 128.
        class_weight: label -> weight in the loss, or "balanced"; None for equal weights.
        random_state: seed, or a numpy.random.RandomState that draws one. With None, each fit uses
            the same seed.
        verbose: 0 to show only warnings, 1 to show the training's log. A program that sets up
            `logging` decides itself.
        options: other flags to use, such as {"freeze_encoder": True}, or None.

    Attributes:
        classes_: the labels, in the order of predict_proba's columns.
        model_: the trained Classifier.
    """

    def __init__(
        self,
        init_checkpoint: str | None = None,
        *,
        num_train_epochs: float | None = None,
        learning_rate: float | None = None,
        train_batch_size: int | None = None,
        max_seq_length: int | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
        options: Mapping[str, Any] | None = None,
    ):
        super().__init__(
            init_checkpoint,
            num_train_epochs=num_train_epochs,
            learning_rate=learning_rate,
            train_batch_size=train_batch_size,
            max_seq_length=max_seq_length,
            random_state=random_state,
            verbose=verbose,
            options=options,
        )
        self.class_weight = class_weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803 (scikit-learn's name)
        """Train a new model.

        Args:
            X: n texts or pairs of texts, in any sequence, or a table, see Classifier.predict.
            y: n labels, or an array [n, labels] of 0 and 1 for any number of labels per text.
            sample_weight: n weights of at least 0 in the loss; None for equal weights.
        """
        texts = text_column(X)
        target = _checked_target(y)
        kind = type_of_target(target, input_name="y")
        if kind == "multilabel-indicator":
            rows = target.toarray() if hasattr(target, "toarray") else np.asarray(target)
            self.classes_ = np.arange(rows.shape[1])
            labels: Any = rows.astype(int)
            options: dict[str, Any] = {"problem_type": MULTI_LABEL.name}
        elif kind in ("binary", "multiclass"):
            self.classes_, indices = np.unique(column_or_1d(target, warn=True), return_inverse=True)
            if len(self.classes_) < 2:
                raise ValueError(
                    f"BertClassifier needs texts of 2 classes or more, and y has one class: {self.classes_.tolist()[0]!r}"
                )
            names = _label_names(self.classes_)
            labels = [names[index] for index in indices.tolist()]
            options = {"problem_type": SINGLE_LABEL.name}
        else:
            raise ValueError(
                f"Unknown label type: {kind}. A classifier needs labels, and numbers are for BertRegressor"
            )
        check_consistent_length(texts.pairs, labels, sample_weight)
        return self._fit(texts, labels, sample_weight, options | self._class_weights())

    def _class_weights(self) -> dict[str, Any]:
        if self.class_weight is None:
            return {}
        if isinstance(self.class_weight, str):
            return {"class_weights": self.class_weight}
        names = dict(zip(self.classes_.tolist(), _label_names(self.classes_), strict=True))
        unknown = [label for label in self.class_weight if label not in names]
        if unknown:
            raise ValueError(f"class_weight: {unknown[0]!r} is not in y; the classes are {list(names)}")
        return {"class_weights": {names[label]: weight for label, weight in self.class_weight.items()}}

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """Return n labels with the dtype of y in `fit`, or an array [n, labels] of 0 and 1."""
        predictions = self._predictions(X)
        if self.model_.problem_type == MULTI_LABEL.name:
            columns = {label: column for column, label in enumerate(predictions.labels)}
            rows = np.zeros((len(predictions), len(columns)), int)
            for row, labels in enumerate(predictions.best):
                rows[row, [columns[label] for label in labels]] = 1
            return rows
        columns = {name: number for number, name in enumerate(_label_names(self.classes_))}
        return self.classes_[[columns[label] for label in predictions.best]]

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        """Return probabilities, float64 [n, labels], with columns in the order of `classes_`."""
        predictions = self._predictions(X)
        if self.model_.problem_type == MULTI_LABEL.name:
            return predictions.probabilities.astype(np.float64)
        probabilities = self._in_class_order(predictions)
        # The sum of float32 numbers differs from 1 by more than scikit-learn's metrics accept.
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def _in_class_order(self, predictions: Predictions) -> np.ndarray:
        """Return probabilities, float64 [n, classes], for a single-label model."""
        columns = [predictions.labels.index(name) for name in _label_names(self.classes_)]
        return predictions.probabilities[:, columns].astype(np.float64)


class BertRegressor(RegressorMixin, _BertEstimator):
    """Regressor for scikit-learn, which predicts a number per text.

    The parameters are flags of bert-classify, see BertClassifier.

    Attributes:
        model_: the trained Classifier.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803
        """Train a new model.

        Args:
            X: n texts or pairs of texts, in any sequence, or a table, see Classifier.predict.
            y: n finite numbers.
            sample_weight: n weights of at least 0 in the loss; None for equal weights.
        """
        texts = text_column(X)
        numbers = column_or_1d(_checked_target(y), dtype=np.float64, warn=True)
        check_consistent_length(texts.pairs, numbers, sample_weight)
        if not np.isfinite(numbers).all():
            raise ValueError("Input y contains NaN or infinity")
        return self._fit(texts, numbers.tolist(), sample_weight, {"problem_type": REGRESSION.name})

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        """Return n numbers, float64."""
        return self._predictions(X).values.astype(np.float64)


def _checked_target(y: Any) -> Any:
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = y if hasattr(y, "toarray") or hasattr(y, "shape") else np.asarray(y)
    if hasattr(y, "toarray"):
        return y
    missing = [row for row, label in enumerate(y) if label is None or (isinstance(label, float) and label != label)]
    if missing:
        raise ValueError(f"Input y contains NaN: y[{missing[0]}] is missing")
    return y


def _label_names(classes: np.ndarray) -> tuple[str, ...]:
    """Return the classes as texts, or as their indices if two texts would be equal or empty."""
    names = tuple(str(label).strip() for label in classes.tolist())
    return names if all(names) and len(set(names)) == len(names) else tuple(map(str, range(len(names))))
