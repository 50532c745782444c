"""What predicts: the part of a session that has nothing to do with what computes it. Imports no
TensorFlow.
"""

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

# Of batch after batch: (row numbers, the predictions for these rows).
Predictions = Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]


@dataclasses.dataclass(frozen=True)
class InferenceHead:
    """A head for inference engines, and its postprocess(logits, batch): the predictions of the
    Keras model in heads/.

    model: what a checkpoint should be, for error messages. join: of rows with several sequences:
    from the logits float32 [sequences, n] and where the sequences of each row begin, int64
    [rows + 1], the logits of the rows. has_windows: see Predictor.
    """

    spec: HeadSpec
    postprocess: Callable[[np.ndarray, Mapping[str, np.ndarray]], dict[str, np.ndarray]]
    model: str
    join: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    has_windows: bool = False


def row_means(logits: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """For InferenceHead.join: the mean of the windows of each text, float32 [rows, n]."""
    counts = np.diff(starts)[:, np.newaxis].astype(np.float32)
    return np.add.reduceat(logits, starts[:-1]) / counts


def endings_side_by_side(logits: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """For InferenceHead.join: [rows · K, 1] -> [rows, K], of equally many endings for each row."""
    return logits.reshape(len(starts) - 1, -1)


class Predictor:
    """A trained model on its devices: Session with TensorFlow, InferenceSession with another
    engine.

    `precision`: the dtype of matrix products. `is_chief`: whether this process writes files.
    `max_seq_length`: in tokens. `is_quiet`: no progress is shown, see `quietly`. `has_windows`:
    whether it reads several windows of a text. `check_pairs`: sees all texts, None if the data was
    checked when it was read.
    """

    precision: str
    is_chief: bool
    max_seq_length: int
    is_quiet = False
    has_windows = False
    check_pairs: PairCheck | None = None

    def load_trained(self, checkpoint: CheckpointPath) -> int:
        """Take all weights of a trained checkpoint; returns its global_step, 0 where it has none.
        InputError where it lacks one.
        """
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        """For run_report.json: on what and with what it computes."""
        raise NotImplementedError

    def _computed(self, features: Features, batch_size: int, run: Callable | None) -> Predictions:
        """See `over`."""
        raise NotImplementedError

    @contextlib.contextmanager
    def quietly(self) -> Iterator[None]:
        """Within it, what is computed shows no progress of its own: something else, such as
        training, does.
        """
        self.is_quiet = True
        try:
            yield
        finally:
            self.is_quiet = False

    def over(
        self,
        features: Features,
        batch_size: int,
        title: str | None,
        unit: str = "examples",
        run: Callable | None = None,
    ) -> Predictions:
        """(row numbers, the model's predictions for these rows) of all rows, the longest first.

        As many are computed at once as have the tokens of `batch_size` padded ones. title: of the
        progress that is shown, None for none; run: what Session.runner made, instead of the
        predictions, for batches of the model's prediction_columns.
        """
        if self.check_pairs:
            self.check_pairs(features.sequences)
        # Four lines for a whole prediction, however long it is.
        every = max(1, len(features) // 4)
        is_shown = title is not None and not self.is_quiet
        with Progress(title or "", len(features), every=every, unit=unit, is_shown=is_shown) as progress:
            for rows, found in self._computed(features, batch_size, run):
                yield rows, found
                progress.update(progress.position + len(rows))

    def infer(self, features: Features, batch_size: int, title: str | None) -> dict:
        """The model's predictions for all rows, in their order, and examples_per_second; see
        `over`.
        """
        began = time.monotonic()
        results: dict[str, np.ndarray] = {}
        for rows, found in self.over(features, batch_size, title):
            put_rows(results, rows, found, len(features))
        seconds = time.monotonic() - began
        return results | {"examples_per_second": round(len(features) / seconds, 2)}
