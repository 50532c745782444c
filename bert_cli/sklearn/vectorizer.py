"""Vectors of texts with the interface of scikit-learn."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from bert_cli.api.feature_extractor import FeatureExtractor
from bert_cli.base.pooling import NONE
from bert_cli.sklearn.inputs import TextEstimator, flat_column, value_errors


class BertVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, TextEstimator):
    """Transformer for scikit-learn that turns texts into vectors of a BERT, without training it.

    The parameters are arguments of FeatureExtractor.load, with its defaults.

    Args:
        path: a checkpoint or an output_dir; None for the built-in model.
        pooling: mean, cls, max and so on; None to use the model's pooling, or the mean if no file names one.
        layers: layers to concatenate, such as [-1, -2]; None for the last one.
        normalize: whether to divide each vector by its length; None to use the
            setting in the model's files.
        max_seq_length: maximum length in tokens; longer texts are cut.
        options: other arguments to use, such as {"engine": "onnxruntime"}, or None.

    Attributes:
        model_: the FeatureExtractor.
    """

    def __init__(
        self,
        path: str | None = None,
        *,
        pooling: str | None = None,
        layers: Any = None,
        normalize: bool | None = None,
        max_seq_length: int | None = None,
        options: Mapping[str, Any] | None = None,
    ):
        self.path = path
        self.pooling = pooling
        self.layers = layers
        self.normalize = normalize
        self.max_seq_length = max_seq_length
        self.options = options

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803 (scikit-learn's name)
        """Load the model; nothing is learned from X and y."""
        if self.pooling == NONE:
            raise ValueError("pooling='none' gives vectors of tokens; a vector per text is needed, such as 'mean'")
        arguments = {name: getattr(self, name) for name in ("path", "pooling", "layers", "normalize", "max_seq_length")}
        with value_errors():
            self.model_ = FeatureExtractor.load(**self._with_options(arguments))
        return self

    def transform(self, X: Any) -> np.ndarray:  # noqa: N803
        """Return the vectors of n texts or pairs of texts, float32 [n, W].

        Args:
            X: n texts or pairs of texts, in any sequence, or a table, see FeatureExtractor.extract.
        """
        check_is_fitted(self, "model_")
        with value_errors():
            return np.asarray(self.model_.extract(flat_column(X)))

    @property
    def _n_features_out(self) -> int:
        """Number of columns, which scikit-learn's get_feature_names_out reads."""
        return self.model_.width
