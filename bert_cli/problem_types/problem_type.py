"""A problem type: everything that depends on the kind of prediction.

Other code uses the four parts, and never asks which problem type it has. Only the loss in
TensorFlow is elsewhere, in heads.losses under the same name, because this room does not import
TensorFlow.
"""

from dataclasses import dataclass

from bert_cli.base import spec
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER
from bert_cli.problem_types.calibration import Calibrator
from bert_cli.problem_types.metrics import Metrics
from bert_cli.problem_types.parts import LabelReader, OutputDecoder, PredictionColumns


@dataclass(frozen=True)
class ProblemType:
    """One problem type, composed of four parts.

    Attributes:
        name: spelling in --problem_type, flags.txt and the manifest; key of heads.losses.FORMULAS.
        summary: text in the help of --problem_type.
        reader: reads labels.
        decoder: turns logits into predictions and decisions.
        metrics: scores predictions, and makes baselines.
        columns: fills tables with predictions.
        calibrator: calibrates probabilities; None without probabilities.
        head_type: key of base.head_types.HEAD_TYPES.
        hugging_face: problem_type in a config.json, None if the architecture implies it.
        has_choices: whether an example is a context with several choices (examples.choice) instead of one or two texts.
    """

    name: str
    summary: str
    reader: LabelReader
    decoder: OutputDecoder
    metrics: Metrics
    columns: PredictionColumns
    calibrator: Calibrator | None = None
    head_type: str = CLASSIFIER
    hugging_face: str | None = None
    has_choices: bool = False

    def require_calibrator(self, flag: str, advice: str = "") -> Calibrator:
        """Return the calibrator, or raise InputError with the flag that needs it, then advice."""
        if self.calibrator is None:
            raise InputError(f"{flag}: is about probabilities, and a number is predicted here{advice}")
        return self.calibrator

    @property
    def batch_columns(self) -> tuple[spec.BatchColumn, ...]:
        """Return the batch columns for a classifier; multiple choice has a sequence per choice."""
        tokens = spec.with_windows(spec.ENCODER) if self.has_choices else spec.ENCODER
        return (*tokens, spec.BatchColumn("label_ids", self.reader.shape, self.reader.dtype))
