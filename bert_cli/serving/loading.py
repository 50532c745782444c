"""Models of the server by the command that trained them, and their loading."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from bert_cli.base.errors import InputError, name_arguments_in_errors
from bert_cli.base.head_types import MASKED_LM, head_of
from bert_cli.base.json_files import JsonObject
from bert_cli.base.names import PAIR_MARK, WINDOWS
from bert_cli.examples.squad.records import SquadExample, split_context
from bert_cli.features.packing import cut_entry
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.flags.option import build, every_flag
from bert_cli.flags.saved import warn_of_unknown_flags
from bert_cli.flags.values import convert_value
from bert_cli.opening.trained import check_command, command_of
from bert_cli.outputs.answers.tagging import example_entities
from bert_cli.predicting.classifier import TextClassifier, open_classifier
from bert_cli.predicting.ensemble import open_mean
from bert_cli.predicting.mask_filler import TextMaskFiller, open_mask_filler
from bert_cli.predicting.opening import (
    AnswererSettings,
    ClassifierSettings,
    MaskFillerSettings,
    TaggerSettings,
)
from bert_cli.predicting.question_answerer import TextAnswerer, answer_record, open_answerer
from bert_cli.predicting.tagger import TextTagger, open_tagger
from bert_cli.problem_types.kinds import CLASSIFICATION, PRETRAINING, QUESTIONS, TAGGING, VECTORS
from bert_cli.serving.items import BOOL, FP32, INT64, TEXT, AnswerField, Item, MaskedCopy, PreparedExplanation
from bert_cli.serving.responses import RequestError
from bert_cli.serving.served_model import ENCODER, ServedModel, ServedVectors, check_served, naming_flags
from bert_cli.settings.answering import ModelFlags
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.groups import TOP_K
from bert_cli.settings.pretraining import PretrainSettings
from bert_cli.settings.squad import SquadSettings
from bert_cli.settings.tagging import TagSettings
from bert_cli.settings.vectors import VectorTrainingSettings
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.path import HUB, CheckpointPath

# Masked copies of a text per explanation; more would delay other requests.
EXPLAIN_BUDGET = 96


class _Classifier(ServedModel):
    is_classifier = True
    explains = True
    _model: TextClassifier

    def __init__(self, name: str, flags: ModelFlags, checkpoint: CheckpointPath, *later_members: CheckpointPath):
        super().__init__(name, flags, checkpoint, *later_members)
        type_name = self._model.decoder.problem_type.name
        self.kind = {"single_label": "classifier"}.get(type_name, type_name)

    @naming_flags
    def _open(self) -> TextClassifier:
        return self._open_classifier(self.checkpoint)

    def _open_classifier(self, checkpoint: CheckpointPath) -> TextClassifier:
        settings, model = self._load(ClassifierSettings, checkpoint=checkpoint)
        return open_classifier(settings, model, settings.encoding.labels or ())

    @property
    def takes_pairs(self) -> bool:
        return self._model.takes_pairs

    @property
    def columns(self) -> tuple[AnswerField, ...]:
        decoder = self._model.decoder
        abstains = decoder.labels.abstain_from is not None
        columns = {"classifier": [AnswerField("label", TEXT)], "multi_label": [AnswerField("labels", TEXT)]}.get(
            self.kind
        )
        if columns:
            columns.append(AnswerField("probabilities", FP32, len(self.labels)))
        else:
            columns = [AnswerField("value", FP32)]
        return (*columns, AnswerField("abstain", BOOL)) if abstains else tuple(columns)

    @name_arguments_in_errors()
    def answer(self, items: Sequence[Item]) -> list[JsonObject]:
        pairs = [(item.first, item.second) for item in items]
        self._model.check_pairs(pairs)
        features = self._model.encode(pairs)
        self._count_cuts(features.cuts, self._model.encoding.max_seq_length)
        return self._model.records(pairs, features)

    @property
    def _longest_answered(self) -> int | None:
        encoding = self._model.encoding
        return None if encoding.long_text == WINDOWS else encoding.max_seq_length

    @name_arguments_in_errors()
    def plan_explanation(self, item: Item, max_words: int) -> PreparedExplanation:
        self._model.check_pair(item.second, "text_b")
        tokens = self._model.tokenize_for_explanation(item.first, item.second)
        num_words, num_cut = len(tokens.seen), tokens.cuts.num_cut_tokens
        if num_words > max_words:
            advice = f"{max_words} are allowed in an explanation (--max_explain_words)"
            raise RequestError(413, f"the model sees {num_words} words of the text; {advice}")
        if num_cut:
            self._warn_of_cuts(self._model.encoding.max_seq_length)
        plan = self._model.plan_explanation(tokens, EXPLAIN_BUDGET)
        starts = plan.copies.offsets[1:-1]
        token_ids, segment_ids = (np.split(ids, starts) for ids in (plan.copies.token_ids, plan.copies.segment_ids))

        def answer(scores: Sequence[dict[str, np.ndarray]]) -> JsonObject:
            predictions = {name: np.stack([score[name] for score in scores]) for name in scores[0]}
            return self._model.explanation_record(*item[:2], plan, predictions) | cut_entry(num_cut)

        copies = [MaskedCopy(*ids) for ids in zip(token_ids, segment_ids, strict=True)]
        return PreparedExplanation(copies, num_cut, self._score_copies, answer)

    def _score_copies(self, copies: Sequence[MaskedCopy]) -> list[Any]:
        lengths = [len(copy.token_ids) for copy in copies]
        token_ids, segment_ids = (np.concatenate(ids) for ids in zip(*copies, strict=True))
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        predictions = self._model.score_copies(RaggedFeatures(token_ids, segment_ids, offsets))
        return [{name: values[row] for name, values in predictions.items()} for row in range(len(copies))]


class _Ensemble(_Classifier):
    """Several classifiers that answer with their mean."""

    explains = False

    @naming_flags
    def _open(self) -> TextClassifier:
        for checkpoint in self.checkpoints:
            check_command(checkpoint, CLASSIFICATION.command)
        members = [self._open_classifier(checkpoint) for checkpoint in self.checkpoints]
        return open_mean([checkpoint.folder for checkpoint in self.checkpoints], members)

    def _open_vectors(self) -> ServedVectors:
        raise InputError(f"{self.name}: is an ensemble, whose {len(self.checkpoints)} members have no common vectors")

    def plan_explanation(self, item: Item, max_words: int) -> PreparedExplanation:
        raise RequestError(400, f"the model {self.name} is an ensemble; an explanation is about one classifier")


class _Tagger(ServedModel):
    kind = "tagger"
    columns = (AnswerField("entities", TEXT),)
    _model: TextTagger

    @naming_flags
    def _open(self) -> TextTagger:
        return open_tagger(*self._load(TaggerSettings))

    @property
    def takes_pairs(self) -> bool:
        return False

    @name_arguments_in_errors()
    def answer(self, items: Sequence[Item]) -> list[JsonObject]:
        examples = self._model.split(item.first for item in items)
        predictions = self._model.tag(examples)
        return [cast(JsonObject, example_entities(*pair)) for pair in zip(examples, predictions, strict=True)]


class _QuestionAnswerer(ServedModel):
    kind = "question_answerer"
    fields = ("question", "context")
    columns = (
        AnswerField("answer", TEXT),
        AnswerField("probability", FP32),
        AnswerField("start", INT64),
        AnswerField("end", INT64),
        AnswerField("sentence", TEXT),
    )
    _model: TextAnswerer

    @naming_flags
    def _open(self) -> TextAnswerer:
        return open_answerer(*self._load(AnswererSettings))

    @name_arguments_in_errors()
    def answer(self, items: Sequence[Item]) -> list[JsonObject]:
        if any(item.second is None for item in items):
            raise RequestError(400, f'the model {self.name} answers questions: give {{"question": …, "context": …}}')
        examples = [
            SquadExample(str(number), item.first, split_context(item.second or "")) for number, item in enumerate(items)
        ]
        predictions, cuts = self._model.answer(examples)
        self._count_cuts(cuts, self._model.settings.task.max_query_length)
        cut_entries = [cut_entry(self._model.count_cut(item.first) if cuts.num_cut_texts else 0) for item in items]
        records = map(answer_record, examples, predictions)
        return [record | entry for record, entry in zip(records, cut_entries, strict=True)]

    def with_index(self, number: int, item: Item, record: JsonObject) -> JsonObject:
        return record | {"id": str(number) if item.id is None else item.id}


class _MaskFiller(ServedModel):
    kind = "masked_lm"
    columns = (AnswerField("masks", TEXT),)
    _model: TextMaskFiller

    @naming_flags
    def _open(self) -> TextMaskFiller:
        flags = self._flags_for(MaskFillerSettings)
        for flag in every_flag(MaskFillerSettings):
            # Check these values again: this kind of model has fewer precisions.
            if flag.name in flags and flag.option.choices:
                convert_value(flag, flags[flag.name])
        return open_mask_filler(build(MaskFillerSettings, flags), self.checkpoint)

    @name_arguments_in_errors()
    def answer(self, items: Sequence[Item]) -> list[JsonObject]:
        texts = [item.first if item.second is None else f"{item.first}{PAIR_MARK}{item.second}" for item in items]
        # A batch may have a part of a request, or several requests.
        return self._model.records(texts, TOP_K, [item.place for item in items])

    def with_index(self, number: int, item: Item, record: JsonObject) -> JsonObject:
        return record


class _Encoder(ServedModel):
    kind = ENCODER

    def answer(self, items: Sequence[Item]) -> list[JsonObject]:
        raise RequestError(400, f"the model {self.name} has no trained head; POST /v1/embeddings gives its vectors")


MODEL_CLASSES: dict[str, type[ServedModel]] = {
    CLASSIFICATION.command: _Classifier,
    TAGGING.command: _Tagger,
    QUESTIONS.command: _QuestionAnswerer,
    PRETRAINING.command: _MaskFiller,
    VECTORS.command: _Encoder,
}


# All flags that a flags.txt of the command may have.
_TRAINING_SETTINGS: dict[str, type] = {
    CLASSIFICATION.command: ClassifySettings,
    TAGGING.command: TagSettings,
    QUESTIONS.command: SquadSettings,
    PRETRAINING.command: PretrainSettings,
    VECTORS.command: VectorTrainingSettings,
}


def load_served(
    name: str, flags: ModelFlags, checkpoint: CheckpointPath, *later_members: CheckpointPath
) -> ServedModel:
    """Load the model of a checkpoint, or an ensemble, and check it with a first text.

    The command that trained the model determines its class. Without such a command, the model is a
    masked LM if the checkpoint has that head, or else an encoder. The first text also imports the
    engine, so that the first request does not wait for it.

    Args:
        name: name in requests.
        flags: flags for loading.
        checkpoint: the checkpoint, the first one of an ensemble.
        later_members: the ensemble's other checkpoints.

    Raises:
        InputError: if the model cannot be loaded, or its outputs are not finite.
    """
    trained_by = command_of(checkpoint) or ""
    if trained_by in _TRAINING_SETTINGS:
        for member in (checkpoint, *later_members):
            warn_of_unknown_flags(_TRAINING_SETTINGS[trained_by], member.folder)
    command = trained_by or (PRETRAINING.command if _has_masked_lm(checkpoint) else "")
    model_class = _Ensemble if later_members else MODEL_CLASSES.get(command, _Encoder)
    model = model_class(name, flags, checkpoint, *later_members)
    model.open_vectors()
    model.check_flags()
    check_served(model)
    return model


def _has_masked_lm(checkpoint: CheckpointPath) -> bool:
    # Skip a tensorflow-hub module: it contains only an encoder, and its reader imports TensorFlow.
    return checkpoint.kind != HUB and any(head_of(name) == MASKED_LM for name in open_checkpoint(checkpoint).shapes)
