"""Interface of sessions that predict, with TensorFlow or with an inference engine."""

import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from bert_cli.base.head_types import HeadSpec
from bert_cli.features.ragged import Features
from bert_cli.outputs.progress import Progress
from bert_cli.runs.loading.checks import PairCheck
from bert_cli.training.scatter import put_rows
from bert_cli.weights.path import CheckpointPath

# Batches of (row indices, predictions for these rows).
Predictions = Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]


@dataclasses.dataclass(frozen=True)
class InferenceHead:
    """A head for inference engines.

    Attributes:
        spec: the head's variables and inputs.
        postprocess: postprocess(logits, batch) returns the same predictions as the Keras model in
            heads/.
        model: the required checkpoint, for error messages.
        join: join(logits, starts) returns logits per row if rows have several sequences. `logits`
            is float32 [sequences, n]; `starts` is int64 [rows + 1], the first sequence of each row.
        has_windows: see Predictor.
    """

    spec: HeadSpec
    postprocess: Callable[[np.ndarray, Mapping[str, np.ndarray]], dict[str, np.ndarray]]
    model: str
    join: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    has_windows: bool = False


def average_windows(logits: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Average each text's logits over its windows; for InferenceHead.join."""
    counts = np.diff(starts)[:, np.newaxis].astype(np.float32)
    return np.add.reduceat(logits, starts[:-1]) / counts


def choices_side_by_side(logits: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Reshape [rows · K, 1] to [rows, K], for K choices per row; for InferenceHead.join."""
    return logits.reshape(len(starts) - 1, -1)


class Predictor:
    """A trained model on its devices. Subclasses are Session (TensorFlow) and InferenceSession.

    Attributes:
        precision: dtype of matrix products.
        is_chief: whether this process writes files.
        max_seq_length: maximum number of tokens in a sequence.
        is_quiet: whether progress is hidden, see `quietly`.
        has_windows: whether the model reads a long text as several windows.
        check_pairs: called with all sequences; None if the data has already been checked.
    """

    precision: str
    is_chief: bool
    max_seq_length: int
    is_quiet = False
    has_windows = False
    check_pairs: PairCheck | None = None

    def load_trained(self, checkpoint: CheckpointPath) -> int:
        """Load the weights from a trained checkpoint, and return its global_step, or 0.

        Raises:
            InputError: if a variable is missing that is not optional.
        """
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        """Return devices, versions and parameter counts for run_report.json."""
        raise NotImplementedError

    def _compute_batches(self, features: Features, batch_size: int, runner: Callable | None) -> Predictions:
        """Yield predictions, the longest rows first; see `predict_batches`."""
        raise NotImplementedError

    @contextlib.contextmanager
    def quietly(self) -> Iterator[None]:
        """Hide the progress of predictions, for example while training shows its own."""
        self.is_quiet = True
        try:
            yield
        finally:
            self.is_quiet = False

    def predict_batches(
        self,
        features: Features,
        batch_size: int,
        title: str | None,
        unit: str = "examples",
        runner: Callable | None = None,
    ) -> Predictions:
        """Yield (row indices, predictions for these rows), the longest rows first.

        Args:
            features: rows to predict.
            batch_size: rows per batch with max_seq_length tokens each. A batch with shorter rows
                has more of them.
            title: title used for the progress; None to hide it.
            unit: noun used for the rows in the progress.
            runner: function from `Session.make_runner` to use instead of predictions. It reads
                the model's `prediction_columns`.
        """
        if self.check_pairs:
            self.check_pairs(features.sequences)
        # Show four lines per prediction, independent of its length.
        every = max(1, len(features) // 4)
        is_shown = title is not None and not self.is_quiet
        with Progress(title or "", len(features), every=every, unit=unit, is_shown=is_shown) as progress:
            for rows, predictions in self._compute_batches(features, batch_size, runner):
                yield rows, predictions
                progress.update(progress.position + len(rows))

    def infer(self, features: Features, batch_size: int, title: str | None) -> dict:
        """Return the predictions for all rows in order, and examples_per_second.

        Args:
            features, batch_size, title: see `predict_batches`.
        """
        start = time.monotonic()
        results: dict[str, np.ndarray] = {}
        for rows, predictions in self.predict_batches(features, batch_size, title):
            put_rows(results, rows, predictions, len(features))
        seconds = time.monotonic() - start
        return results | {"examples_per_second": round(len(features) / seconds, 2)}
