"""A model that is served: its kind, the items that it takes, and its answers as JSON objects."""

import abc
import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from bert_cli.api.classifier import Classifier
from bert_cli.api.feature_extractor import FeatureExtractor
from bert_cli.api.loading import Cutting
from bert_cli.api.mask_filler import MaskFiller
from bert_cli.api.question_answerer import QuestionAnswerer
from bert_cli.api.tagger import Tagger
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import MASKED_LM, head_of
from bert_cli.base.log import warn_once
from bert_cli.base.names import PAIR_MARK
from bert_cli.features.cuts import Cuts
from bert_cli.runs.loading.trained import command_of
from bert_cli.serving.errors import RequestError
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.path import HUB, CheckpointPath, find_checkpoint

EXPLAIN_BUDGET = 96  # masked copies of a text; more would keep other requests waiting


class Item(NamedTuple):
    """What one answer is made for: a text, a pair, or a question and its context."""

    first: str
    second: str | None = None
    id: str | None = None  # of a question

    @property
    def text_or_pair(self) -> str | tuple[str, str]:
        return self.first if self.second is None else (self.first, self.second)

    @property
    def characters(self) -> int:
        return len(self.first) + len(self.second or "")


@dataclasses.dataclass(frozen=True)
class Options:
    """How models are loaded: as the flags --precision and --engine."""

    precision: str
    engine: str


class ServedModel(abc.ABC):
    """One model.

    Attributes:
        name: in requests.
        checkpoint: the checkpoint that was loaded.
        num_cut_texts: texts that were cut so far.
    """

    kind: str  # classifier, multi_label, regression, tagger, question_answerer, masked_lm or encoder
    loaded_by: Any = None  # the class of bert_cli.api; None: vectors alone
    fields = ("text", "text_b")  # of an item that is an object; the second one may be missing
    explains = False

    def __init__(self, name: str, checkpoint: CheckpointPath, options: Options):
        self.name = name
        self.checkpoint = checkpoint
        self._options = dataclasses.asdict(options)
        self._model: Any = self.loaded_by.load(checkpoint.argument, **self._options) if self.loaded_by else None
        self._vectors: FeatureExtractor | str = "not loaded"  # or why there are none
        self.num_cut_texts = 0
        if isinstance(self._model, Cutting):
            self._model.on_cut = self._count_cuts

    @property
    def labels(self) -> list[str]:
        return list(getattr(self._model, "labels", ()))

    def description(self) -> dict[str, Any]:
        """For the page and GET /v1/models."""
        about = {"name": self.name, "kind": self.kind, "labels": self.labels}
        return about | {"takes_pairs": self.takes_pairs, "explains": self.explains}

    @property
    def takes_pairs(self) -> bool:
        """Whether an item may be a pair of texts."""
        return self.fields[1] == "text_b"

    def placed(self, number: int, item: Item, record: dict[str, Any]) -> dict[str, Any]:
        """An answer with its place in the request, as JSON lines of --input_file have it."""
        return {"index": number} | record

    @abc.abstractmethod
    def answer(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        """The answers in the order of the items, as JSON lines of the command's --input_file have
        them, without `index`.
        """

    def explain(self, item: Item) -> dict[str, Any]:
        """Which words mattered; RequestError for a model without."""
        raise RequestError(400, f"the model {self.name} is a {self.kind}; classifiers are explained")

    def _count_cuts(self, cuts: Cuts, max_tokens: int) -> None:
        if cuts.num_cut_texts:
            # One line per process: a line per request would fill the log.
            counted = "GET /metrics counts them (bert_cut_texts_total)"
            warn_once(f"warning: {self.name}: texts are cut to {max_tokens} tokens; {counted}")
        self.num_cut_texts += cuts.num_cut_texts

    def open_vectors(self) -> None:
        """Load what `embed` needs, as no request reads a file."""
        try:
            self._vectors = FeatureExtractor.load(self.checkpoint.argument, normalize=True, **self._options)
            self._vectors.on_cut = self._count_cuts
        except InputError as error:
            if self.kind == _Encoder.kind:
                raise
            self._vectors = str(error)

    def embed(self, items: Sequence[Item]) -> list[tuple[np.ndarray, int]]:
        """For each item the mean of the last layer, of length 1, float32 [H], and its tokens."""
        if isinstance(self._vectors, str):
            raise RequestError(400, f"the model {self.name} gives no vectors: {self._vectors}")
        texts = [each.first for each in items]
        vectors = np.asarray(self._vectors.extract(texts))
        return list(zip(vectors, self._vectors.count_tokens(texts), strict=True))


class _Classifier(ServedModel):
    loaded_by = Classifier
    explains = True

    def __init__(self, name: str, checkpoint: CheckpointPath, options: Options):
        super().__init__(name, checkpoint, options)
        self.kind = {"single_label": "classifier"}.get(self._model.problem_type, self._model.problem_type)

    @property
    def takes_pairs(self) -> bool:
        return self._model.takes_pairs

    def answer(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        return self._model.records([item.text_or_pair for item in items])

    def explain(self, item: Item) -> dict[str, Any]:
        return self._model.explain(item.first, item.second, EXPLAIN_BUDGET)


class _Tagger(ServedModel):
    kind = "tagger"
    loaded_by = Tagger

    @property
    def takes_pairs(self) -> bool:
        return False

    def answer(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        return self._model.records([item.first for item in items])


class _QuestionAnswerer(ServedModel):
    kind = "question_answerer"
    loaded_by = QuestionAnswerer
    fields = ("question", "context")

    def answer(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        if any(item.second is None for item in items):
            raise RequestError(400, f'the model {self.name} answers questions: give {{"question": …, "context": …}}')
        return self._model.answer([(item.first, item.second or "") for item in items])

    def placed(self, number: int, item: Item, record: dict[str, Any]) -> dict[str, Any]:
        return record | {"id": str(number) if item.id is None else item.id}


class _MaskFiller(ServedModel):
    kind = "masked_lm"
    loaded_by = MaskFiller

    def answer(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        pairs = [item.first if item.second is None else f"{item.first}{PAIR_MARK}{item.second}" for item in items]
        return self._model.fill(pairs)

    def placed(self, number: int, item: Item, record: dict[str, Any]) -> dict[str, Any]:
        return record


class _Encoder(ServedModel):
    kind = "encoder"

    def answer(self, items: Sequence[Item]) -> list[dict[str, Any]]:
        raise RequestError(400, f"the model {self.name} has no trained head; POST /v1/embeddings gives its vectors")


_KINDS: dict[str, type[ServedModel]] = {
    "bert-classify": _Classifier,
    "bert-tag": _Tagger,
    "bert-squad": _QuestionAnswerer,
    "bert-pretrain": _MaskFiller,
}


def load_served(name: str, path: str, options: Options) -> ServedModel:
    """The model in a folder, by the command that trained it; if none did, a masked LM where it has
    that head, else an encoder. Imports what computes it, and answers a first text, so that the
    first request does not wait for it.
    """
    checkpoint = find_checkpoint(path, "output_dir")
    command = command_of(checkpoint) or ("bert-pretrain" if _has_masked_lm(checkpoint) else "")
    model = _KINDS.get(command, _Encoder)(name, checkpoint, options)
    model.open_vectors()
    check_served(model)
    return model


def _has_masked_lm(checkpoint: CheckpointPath) -> bool:
    # A module for tensorflow-hub holds the encoder alone, and its reader imports TensorFlow.
    return checkpoint.kind != HUB and any(head_of(name) == MASKED_LM for name in open_checkpoint(checkpoint).shapes)


def check_served(model: ServedModel) -> None:
    """InputError for a model whose numbers are not finite."""
    if model.kind == "encoder":
        is_finite = bool(np.isfinite(model.embed([Item("a text")])[0][0]).all())
    else:
        text = "the [MASK] sees a dog ." if model.kind == "masked_lm" else "a text ."
        item = Item(text, text if model.fields[1] == "context" else None)
        is_finite = "NaN" not in repr(model.answer([item])).replace("nan", "NaN")
    if not is_finite:
        raise InputError(f"{model.checkpoint.name}: gives NaN or infinite numbers; use another checkpoint")
