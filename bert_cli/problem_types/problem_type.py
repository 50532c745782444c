"""A problem type: everything that depends on the kind of prediction.

Other code uses its parts, and never asks which problem type it has. Only the loss in
TensorFlow is elsewhere, in heads.losses under the same name, because this room does not import
TensorFlow.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bert_cli.base import spec
from bert_cli.base.head_types import CLASSIFIER
from bert_cli.problem_types.calibration import Calibrator
from bert_cli.problem_types.kinds import CLASSIFICATION
from bert_cli.problem_types.metrics import Metrics
from bert_cli.problem_types.optional_parts import (
    Distiller,
    Explainer,
    FoldColumns,
    HeadFit,
    LabelLoss,
    LinearBaseline,
    MissingPart,
    TextAnswers,
    Thresholds,
)
from bert_cli.problem_types.parts import CellReader, LabelReader, OutputDecoder, PredictionColumns


@dataclass(frozen=True, kw_only=True)
class ProblemType:
    """One problem type, composed of four parts that each type has, and of parts that it may lack.

    A missing part is false. It has a reason if a flag needs the part, see `require`.

    Attributes:
        name: spelling in --problem_type, flags.txt and the manifest; key of heads.losses.FORMULAS.
        summary: text in the help of --problem_type.
        reader: reads labels.
        cell_reader: `reader` if it also reads label columns of tables.
        decoder: turns logits into predictions and decisions.
        metrics: scores predictions, and makes baselines.
        columns: fills tables with predictions.
        calibrator: calibrates probabilities.
        label_loss: loss for labels, which flags change.
        distiller: makes targets for a student.
        text_answers: answers new texts.
        explainer: scores words.
        fold_columns: `columns` if they also compare predictions with labels, for cross-validation.
        thresholds: thresholds for probabilities, see `find_thresholds`.
        fit_head: fits a head with a logistic regression.
        linear_baseline: fits a linear model on words, to compare the model with.
        head_type: key of base.head_types.HEAD_TYPES.
        hugging_face: problem_type in a config.json, None if the architecture implies it.
        uses: pairs (purpose, command line) for a report, see kinds.TaskKind.
        has_choices: whether an example is a context with several choices (examples.choice) instead
            of one or two texts.
    """

    name: str
    summary: str
    reader: LabelReader
    cell_reader: CellReader | MissingPart
    decoder: OutputDecoder
    metrics: Metrics
    columns: PredictionColumns
    calibrator: Calibrator | MissingPart
    label_loss: LabelLoss | MissingPart
    distiller: Distiller | MissingPart
    text_answers: TextAnswers | MissingPart
    explainer: Explainer | MissingPart
    fold_columns: FoldColumns | MissingPart
    fit_head: HeadFit | MissingPart
    thresholds: Thresholds | None = None
    linear_baseline: LinearBaseline | None = None
    head_type: str = CLASSIFIER
    hugging_face: str | None = None
    uses: tuple[tuple[str, str], ...] = CLASSIFICATION.uses
    has_choices: bool = False

    def find_thresholds(self, names: Sequence[str]) -> Thresholds | None:
        """Return the thresholds if --threshold applies to a model with these labels, else None."""
        return self.thresholds.for_labels(names) if self.thresholds else None

    def default_thresholds(self, names: Sequence[str]) -> np.ndarray | None:
        """Return LabelSet.thresholds without --threshold, for a model with these labels."""
        return self.thresholds.default(names) if self.thresholds else None

    @property
    def batch_columns(self) -> tuple[spec.BatchColumn, ...]:
        """Return the batch columns for a classifier; multiple choice has a sequence per choice."""
        tokens = spec.with_windows(spec.ENCODER) if self.has_choices else spec.ENCODER
        return (*tokens, spec.BatchColumn("label_ids", self.reader.shape, self.reader.dtype))
