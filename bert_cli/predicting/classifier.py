"""Text classifiers that are opened for new texts."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.head_types import CLASSIFIER, HeadSpec, TextInput
from bert_cli.base.spec import BatchColumn
from bert_cli.features.classification import ClassificationFeatures, classification_features
from bert_cli.features.packing import cut_entry
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.inference.engine import FineTunedNetwork
from bert_cli.inference.rows import Predictor
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.opening.bundle import AnyModel
from bert_cli.opening.paths import run_folders
from bert_cli.opening.trained import num_trained_texts
from bert_cli.predicting.decoder import Decoder, make_decoder
from bert_cli.predicting.explanation import (
    BUDGET,
    ExplanationPlan,
    WordTokens,
    explanation_record,
    plan_explanation,
    score_copies,
    text_record,
    word_tokens,
)
from bert_cli.predicting.opening import ClassifierSettings, open_for_new_texts
from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE, SINGLE_LABEL
from bert_cli.problem_types.optional_parts import require
from bert_cli.problem_types.parts import PredictionArrays
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.registry import find_facts, problem_type
from bert_cli.settings.answering import Classification
from bert_cli.settings.data import Choices, LabelKind
from bert_cli.settings.groups import WINDOWS, Encoding
from bert_cli.text.tokenization import FullTokenizer

if TYPE_CHECKING:
    from bert_cli.heads.losses import DistillationLoss
    from bert_cli.heads.model import NetworkOptions, TaskModel

BATCH_SIZE = 32  # texts of maximum length
TextPair = tuple[str, str | None]


def find_flag_type(task: Classification, label_kind: LabelKind, choices: Choices) -> ProblemType | None:
    """Return the problem type from --task_name or other flags, or None if the data decides it.

    Args:
        task: flags with --task_name.
        label_kind: flags with --problem_type.
        choices: flags with --choice_columns.

    Raises:
        InputError: two flags imply different types.
    """
    type_name, task_name = label_kind.problem_type, task.task_name
    flag_type = problem_type(type_name) if type_name else None
    resolved_type = find_facts(task_name).problem_type if task_name else flag_type
    if type_name and resolved_type and type_name != resolved_type.name:
        raise InputError(
            f"--problem_type={type_name}: --task_name={task_name} is {resolved_type.name}; leave --problem_type out"
        )
    choices_type = MULTIPLE_CHOICE if choices.choice_columns else None
    if choices_type and resolved_type and resolved_type is not choices_type:
        source = f"--task_name={task_name}" if task_name else "--problem_type, as given or as the model was trained,"
        raise InputError(
            f"--choice_columns: {source} is {resolved_type.name}, not {choices_type.name}; leave --choice_columns out"
        )
    return choices_type or resolved_type


def classifier_network(decoder: Decoder, text_input: TextInput) -> FineTunedNetwork:
    """Return a classifier's description, for all engines.

    Args:
        decoder: problem type and labels.
        text_input: the encoder output that the head reads.
    """
    num_outputs = decoder.problem_type.reader.output_count(decoder.labels.names)
    activation = decoder.problem_type.decoder.activation
    return FineTunedNetwork(
        HeadSpec(CLASSIFIER, num_outputs, text_input, activation=activation), "a fine-tuned classifier"
    )


def build_classifier(
    config: BertConfig | ModuleConfig,
    decoder: Decoder,
    text_input: TextInput,
    long_text: str,
    options: "NetworkOptions",
    distillation: "DistillationLoss | None" = None,
    loss_columns: tuple[BatchColumn, ...] = (),
) -> "TaskModel":
    """Return the encoder with a classifier of texts, a keras.Model; import TensorFlow.

    Args:
        decoder: problem type and labels.
        text_input: the encoder output that the head reads.
        long_text: value of --long_text.
        options: keyword arguments that all networks share.
        distillation: loss from a teacher's probabilities, or None.
        loss_columns: further columns of training batches, see BertTextClassifier.
    """
    # Import late: heads import TensorFlow (seconds), and a wrong flag must fail fast.
    from bert_cli.heads.classification import BertTextClassifier, BertWindowsClassifier

    model_class = BertWindowsClassifier if long_text == WINDOWS else BertTextClassifier
    num_outputs = decoder.problem_type.reader.output_count(decoder.labels.names)
    problem_type = decoder.problem_type.name
    return model_class(
        config, num_outputs, problem_type, text_input, distillation, loss_columns=loss_columns, **options
    )


def build_choice(
    config: BertConfig | ModuleConfig,
    decoder: Decoder,
    text_input: TextInput,
    long_text: str,
    options: "NetworkOptions",
    distillation: "DistillationLoss | None" = None,
    loss_columns: tuple[BatchColumn, ...] = (),
) -> "TaskModel":
    """Return the encoder with a head for multiple choice, a keras.Model; import TensorFlow.

    Args:
        decoder, text_input, options, distillation, loss_columns: see build_classifier.
        long_text: unused, because multiple choice has no --long_text.
    """
    from bert_cli.heads.choice import BertChoice

    problem_type = decoder.problem_type
    num_outputs = problem_type.reader.output_count(decoder.labels.names)
    return BertChoice(
        config, num_outputs, problem_type.name, text_input, distillation, loss_columns=loss_columns, **options
    )


class _NewText(NamedTuple):
    """A text or a pair without label, as features.encoded_text.LabeledText."""

    guid: str
    text_a: str
    text_b: str | None
    label: None = None
    weight: None = None
    distribution: None = None


@dataclasses.dataclass(frozen=True)
class TextClassifier:
    """An opened classifier.

    Attributes:
        predictor: the model on its engine.
        decoder: problem type, labels, thresholds and calibration.
        tokenizer: the model's tokenizer.
        encoding: sequence length, and treatment of longer texts.
        takes_pairs: False if the model was trained on single texts, so that a pair is an error.
    """

    predictor: Predictor
    decoder: Decoder
    tokenizer: FullTokenizer
    encoding: Encoding
    takes_pairs: bool

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the label names, () for a regression."""
        return self.decoder.labels.names

    def check_pair(self, text_b: str | None, place: str) -> None:
        """Raise InputError for a second text if the model was trained on single texts."""
        refuse_if(
            text_b is not None and not self.takes_pairs,
            f"{place}: has a second text, and the model was trained on single texts; give one text",
        )

    def check_pairs(self, pairs: Sequence[TextPair]) -> None:
        """Raise InputError with the index of a pair if the model was trained on single texts."""
        for row, (_, text_b) in enumerate(pairs):
            self.check_pair(text_b, f"texts[{row}]")

    def encode(self, pairs: Sequence[TextPair]) -> ClassificationFeatures:
        """Return the features of texts or pairs."""
        examples = [_NewText(str(row), *pair) for row, pair in enumerate(pairs)]
        length, long_text = self.encoding.max_seq_length, self.encoding.long_text
        return classification_features(
            examples, self.labels, self.tokenizer, length, self.decoder.problem_type, long_text
        )

    def infer(
        self, features: ClassificationFeatures, batch_size: int = BATCH_SIZE, title: str | None = None
    ) -> PredictionArrays:
        """Return the model's outputs for features, see Predictor.infer."""
        return self.decoder.infer(self.predictor, features, batch_size, title)

    def predict(self, pairs: Sequence[TextPair], features: ClassificationFeatures) -> PredictionArrays:
        """Return the predictions for one text or pair or more, and their features from `encode`."""
        return self.infer(features)

    def records(self, pairs: Sequence[TextPair], features: ClassificationFeatures) -> list[dict[str, Any]]:
        """Return one dict per text, as in the JSON lines for --input_file.

        Each has `text` (and `text_b`), together with `label` and `probabilities`, `labels` and
        `probabilities` for multi-label models, or `value` for a regression; and `cut`, the number
        of tokens that were left out, if the text was cut.

        Args:
            pairs: one text or more.
            features: the result of `encode`.
        """
        outputs = self.predict(pairs, features)
        answers = require(self.decoder.problem_type.text_answers, "--text")
        return [
            text_record(*pair) | answers.record(outputs, row, self.decoder.labels) | cut_entry(num_cut)
            for row, (pair, num_cut) in enumerate(zip(pairs, features.cut_tokens.tolist(), strict=True))
        ]

    def tokenize_for_explanation(self, text: str, text_b: str | None) -> WordTokens:
        """Return a text's or pair's tokens, as one sequence even if the model uses windows."""
        return word_tokens(text, text_b, self.tokenizer, self.predictor.max_seq_length)

    def explain(
        self, text: str, text_b: str | None, tokens: WordTokens, budget: int = BUDGET, label: int | None = None
    ) -> dict[str, Any]:
        """Return the texts with their prediction and each word's share in it.

        Args:
            text, text_b: the text, or both texts if it is a pair.
            tokens: the result of `tokenize_for_explanation`.
            budget: approximate number of masked copies to compute.
            label: label index to explain; None for the most probable one.
        """
        plan = self.plan_explanation(tokens, budget)
        record = explanation_record(plan, self.decoder, self.score_copies(plan.copies), label)
        return text_record(text, text_b) | record

    def plan_explanation(self, tokens: WordTokens, budget: int = BUDGET) -> ExplanationPlan:
        """Return a text's masked copies, see `explain`."""
        return plan_explanation(tokens, self.tokenizer, budget)

    def score_copies(self, copies: RaggedFeatures) -> PredictionArrays:
        """Return the model's outputs for masked copies, which may be of several texts."""
        return score_copies(self.predictor, self.decoder, copies, BATCH_SIZE)

    def explanation_record(
        self, text: str, text_b: str | None, plan: ExplanationPlan, predictions: PredictionArrays
    ) -> dict[str, Any]:
        """Return the same record as `explain`.

        Args:
            text, text_b: the text, or both texts if it is a pair.
            plan: the text's masked copies.
            predictions: the model's outputs for these copies.
        """
        return text_record(text, text_b) | explanation_record(plan, self.decoder, predictions)


def open_classifier(settings: ClassifierSettings, model: AnyModel, label_names: tuple[str, ...] = ()) -> TextClassifier:
    """Return a trained classifier with its weights, ready to use.

    Args:
        settings: flags, including the training run's values.
        model: the model's files.
        label_names: label names, in output order; () to use those in the model's files.

    Raises:
        InputError: if the labels are unknown or do not fit, or if this is a multiple-choice model.
    """
    folder = model.required_checkpoint.folder
    flag_type = find_flag_type(settings.task, settings.label_kind, settings.choices)
    trained_type = flag_type or model.head.problem_type or SINGLE_LABEL
    require(trained_type.text_answers, folder, "; predict a file with bert-classify")
    output_names = model.head.label_names(trained_type, label_names, settings.task.task_name, may_rename=True)
    if output_names is None:
        raise model.head.unknown_labels()
    folders, positive = run_folders(model.required_checkpoint), settings.label_kind.positive_label
    decoder = make_decoder(trained_type, output_names, settings.inference, folders, positive)
    decoder = decoder.with_calibration(model.head.calibration(trained_type, output_names))
    encoding, text_input = settings.encoding, settings.head.text_input

    def build(compute_dtype: str) -> "TaskModel":
        options: NetworkOptions = {"compute_dtype": compute_dtype}
        return build_classifier(model.config, decoder, text_input, encoding.long_text, options)

    network = classifier_network(decoder, text_input)
    predictor = open_for_new_texts(
        network, build, model, settings.devices, encoding.max_seq_length, settings.model.strict
    )
    takes_pairs = num_trained_texts(model, settings.task.task_name) != 1
    return TextClassifier(predictor, decoder, model.tokenizer, encoding, takes_pairs)
