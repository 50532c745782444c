"""Models of the server: their input items, and their answers as JSON objects."""

import abc
import dataclasses
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bert_cli.api.classifier import Classifier
from bert_cli.api.feature_extractor import FeatureExtractor
from bert_cli.api.mask_filler import MaskFiller
from bert_cli.api.question_answerer import QuestionAnswerer
from bert_cli.api.tagger import Tagger
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import MASKED_LM, head_of
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import warn_once
from bert_cli.base.names import PAIR_MARK
from bert_cli.features.cuts import Cuts, CuttingModel
from bert_cli.runs.loading.commands import command_of
from bert_cli.serving.errors import RequestError
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.path import HUB, TF1, CheckpointPath, find_checkpoint

# Masked copies of a text per explanation; more would delay other requests.
EXPLAIN_BUDGET = 96


class Item(NamedTuple):
    """A text, a pair of texts, or a question and its context.

    Attributes:
        first: the text, the first text or the question.
        second: the second text, the context or None.
        id: the client's id for a question, or None.
    """

    first: str
    second: str | None = None
    id: str | None = None

    @property
    def text_or_pair(self) -> str | tuple[str, str]:
        """Return the text, or both texts of a pair."""
        return self.first if self.second is None else (self.first, self.second)

    @property
    def characters(self) -> int:
        """Return the number of characters in all texts."""
        return len(self.first) + len(self.second or "")


@dataclasses.dataclass(frozen=True)
class Options:
    """Values of the flags --precision and --engine for loading a model."""

    precision: str
    engine: str


class ServedModel(abc.ABC):
    """A model that answers items.

    Attributes:
        kind: classifier, multi_label, regression, tagger, question_answerer, masked_lm or encoder.
        api_class: class in bert_cli.api that loads and runs the model; None for an encoder, which
            only has vectors.
        fields: names of an item's texts in a JSON object; the second text is optional.
        can_explain: whether `explain` is implemented.
        name: name in requests.
        checkpoint: the loaded checkpoint.
        num_cut_texts: number of texts that were cut to the model's length so far.
    """

    kind: str
    api_class: Any = None
    fields = ("text", "text_b")
    can_explain = False

    def __init__(self, name: str, checkpoint: CheckpointPath, options: Options):
        self.name = name
        self.checkpoint = checkpoint
        self._options = dataclasses.asdict(options)
        self._model: Any = self.api_class.load(checkpoint.argument, **self._options) if self.api_class else None
        # A string is the reason why the model has no vectors.
        self._vectors: FeatureExtractor | str = "not loaded"
        self.num_cut_texts = 0
        if isinstance(self._model, CuttingModel):
            self._model.on_cut = self._count_cuts

    @property
    def step(self) -> int:
        """Return the checkpoint's training step from its name (model.ckpt-30), or 0 without one."""
        match = re.search(r"-(\d+)$", self.checkpoint.location)
        return int(match[1]) if match and self.checkpoint.kind == TF1 else 0

    @property
    def labels(self) -> list[str]:
        """Return the label names; empty if the model has no labels."""
        return list(getattr(self._model, "labels", ()))

    def describe(self) -> JsonObject:
        """Return name, kind, labels and abilities, for the web page and GET /v1/models."""
        description = {"name": self.name, "kind": self.kind, "labels": self.labels}
        return description | {"takes_pairs": self.takes_pairs, "explains": self.can_explain}

    @property
    def takes_pairs(self) -> bool:
        """Return whether an item may be a pair of texts."""
        return self.fields[1] == "text_b"

    def with_index(self, number: int, item: Item, record: JsonObject) -> JsonObject:
        """Return an answer together with its index in the request.

        Args:
            number: index of the item in the request.
            item: the answered item.
            record: the answer.
        """
        return {"index": number} | record

    @abc.abstractmethod
    def answer(self, items: Sequence[Item]) -> list[JsonObject]:
        """Return one JSON object per item, like the command's output for --input_file.

        `with_index` adds the index.
        """

    def explain(self, item: Item) -> JsonObject:
        """Return each word's contribution to the predicted label.

        Raises:
            RequestError: 400 if the model cannot explain.
        """
        raise RequestError(400, f"the model {self.name} is a {self.kind}; classifiers are explained")

    def _count_cuts(self, cuts: Cuts, max_tokens: int) -> None:
        if cuts.num_cut_texts:
            # Warn once per process: a line per request would fill the log.
            hint = "GET /metrics counts them (bert_cut_texts_total)"
            warn_once(f"warning: {self.name}: texts are cut to {max_tokens} tokens; {hint}")
        self.num_cut_texts += cuts.num_cut_texts

    def open_vectors(self) -> None:
        """Load the feature extractor for `embed`, so that no request reads a file."""
        try:
            self._vectors = FeatureExtractor.load(self.checkpoint.argument, normalize=True, **self._options)
            self._vectors.on_cut = self._count_cuts
        except InputError as error:
            if self.kind == _Encoder.kind:
                raise
            self._vectors = str(error)

    def embed(self, items: Sequence[Item]) -> list[tuple[np.ndarray, int]]:
        """Return a float32 vector [H] and the number of tokens for each item.

        The vector is the mean of the last layer, normalized to length 1.
        """
        if isinstance(self._vectors, str):
            raise RequestError(400, f"the model {self.name} gives no vectors: {self._vectors}")
        texts = [item.first for item in items]
        vectors = np.asarray(self._vectors.extract(texts))
        return list(zip(vectors, self._vectors.count_tokens(texts), strict=True))


class _Classifier(ServedModel):
    api_class = Classifier
    can_explain = True

    def __init__(self, name: str, checkpoint: CheckpointPath, options: Options):
        super().__init__(name, checkpoint, options)
        self.kind = {"single_label": "classifier"}.get(self._model.problem_type, self._model.problem_type)

    @property
    def takes_pairs(self) -> bool:
        return self._model.takes_pairs

    def answer(self, items: Sequence[Item]) -> list[JsonObject]:
        return self._model.records([item.text_or_pair for item in items])

    def explain(self, item: Item) -> JsonObject:
        return self._model.explain(item.first, item.second, EXPLAIN_BUDGET).record()


class _Tagger(ServedModel):
    kind = "tagger"
    api_class = Tagger

    @property
    def takes_pairs(self) -> bool:
        return False

    def answer(self, items: Sequence[Item]) -> list[JsonObject]:
        return self._model.records([item.first for item in items])


class _QuestionAnswerer(ServedModel):
    kind = "question_answerer"
    api_class = QuestionAnswerer
    fields = ("question", "context")

    def answer(self, items: Sequence[Item]) -> list[JsonObject]:
        if any(item.second is None for item in items):
            raise RequestError(400, f'the model {self.name} answers questions: give {{"question": …, "context": …}}')
        return self._model.records([(item.first, item.second or "") for item in items])

    def with_index(self, number: int, item: Item, record: JsonObject) -> JsonObject:
        return record | {"id": str(number) if item.id is None else item.id}


class _MaskFiller(ServedModel):
    kind = "masked_lm"
    api_class = MaskFiller

    def answer(self, items: Sequence[Item]) -> list[JsonObject]:
        pairs = [item.first if item.second is None else f"{item.first}{PAIR_MARK}{item.second}" for item in items]
        return self._model.records(pairs)

    def with_index(self, number: int, item: Item, record: JsonObject) -> JsonObject:
        return record


class _Encoder(ServedModel):
    kind = "encoder"

    def answer(self, items: Sequence[Item]) -> list[JsonObject]:
        raise RequestError(400, f"the model {self.name} has no trained head; POST /v1/embeddings gives its vectors")


_MODEL_CLASSES: dict[str, type[ServedModel]] = {
    "bert-classify": _Classifier,
    "bert-tag": _Tagger,
    "bert-squad": _QuestionAnswerer,
    "bert-pretrain": _MaskFiller,
}


def load_served(name: str, path: str, options: Options) -> ServedModel:
    """Load the model in a directory, and check it with a first text.

    The command that trained the model determines its class. Without such a command, the model is a
    masked LM if the checkpoint has that head, or else an encoder. The first text also imports the
    engine, so that the first request does not wait for it.

    Args:
        name: name in requests.
        path: directory or checkpoint.
        options: flags for loading.

    Raises:
        InputError: if the model cannot be loaded, or its outputs are not finite.
    """
    checkpoint = find_checkpoint(path, "output_dir")
    command = command_of(checkpoint) or ("bert-pretrain" if _has_masked_lm(checkpoint) else "")
    model = _MODEL_CLASSES.get(command, _Encoder)(name, checkpoint, options)
    model.open_vectors()
    check_served(model)
    return model


def _has_masked_lm(checkpoint: CheckpointPath) -> bool:
    # Skip a tensorflow-hub module: it contains only an encoder, and its reader imports TensorFlow.
    return checkpoint.kind != HUB and any(head_of(name) == MASKED_LM for name in open_checkpoint(checkpoint).shapes)


def check_served(model: ServedModel) -> None:
    """Raise InputError if the model's outputs for a short text are not finite."""
    if model.kind == "encoder":
        is_finite = bool(np.isfinite(model.embed([Item("a text")])[0][0]).all())
    else:
        text = "the [MASK] sees a dog ." if model.kind == "masked_lm" else "a text ."
        item = Item(text, text if model.fields[1] == "context" else None)
        is_finite = "NaN" not in repr(model.answer([item])).replace("nan", "NaN")
    if not is_finite:
        raise InputError(f"{model.checkpoint.name}: gives NaN or infinite numbers; use another checkpoint")
