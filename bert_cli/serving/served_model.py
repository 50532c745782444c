"""Models of the server, and the methods that all of them share."""

import abc
import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bert_cli.base.errors import InputError, name_arguments_in_errors
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import warn_once
from bert_cli.base.names import TRUNCATE, WINDOWS
from bert_cli.features.packing import CutCounts
from bert_cli.flags.option import build, every_flag
from bert_cli.opening.bundle import AnyModel
from bert_cli.opening.trained import load_with_settings
from bert_cli.predicting.opening import VectorSettings
from bert_cli.predicting.vector_recipe import DEFAULT_LENGTH, VectorFlags, choose_recipe
from bert_cli.predicting.vectors import TextVectors, open_vectors
from bert_cli.sentence.steps import Normalize
from bert_cli.serving.items import FP32, AnswerField, Embedding, Item, PreparedExplanation, Token
from bert_cli.serving.responses import RequestError
from bert_cli.settings.answering import ModelFlags, VectorUseSettings
from bert_cli.settings.serving import ServeSettings
from bert_cli.text.offsets import find_pieces
from bert_cli.text.vocabulary import CLS, SEP
from bert_cli.weights.path import TF1, CheckpointPath

ENCODER = "encoder"  # kind of a model that only has vectors
# For estimates: characters per token of English, and tokens of an empty text.
_CHARACTERS_PER_TOKEN, _LEAST_TOKENS = 4, 3


# Decorator for loading: its errors name only the
# server's flags. Answers to requests may contain them.
_FLAGS = {flag.name: f"--{flag.name}" for flag in every_flag(ServeSettings)}
naming_flags = name_arguments_in_errors(None, init_checkpoint="--output_dir", **_FLAGS)
_VECTOR_FLAGS = frozenset(flag.name for flag in every_flag(VectorUseSettings))


class ServedVectors:
    """An opened encoder for items."""

    def __init__(self, opened: TextVectors, count_cuts: Callable[[CutCounts, int], None]):
        """Wrap an encoder.

        Args:
            opened: the encoder.
            count_cuts: called with cuts, and with the largest number of tokens.
        """
        self._opened = opened
        self._count_cuts = count_cuts

    @name_arguments_in_errors()
    def embed(self, items: Sequence[Item]) -> list[Embedding]:
        """Return a vector for each item.

        Flags or the model's modules.json determine the vector. Without them, the vector is the mean
        of the last layer with length 1.
        """
        opened = self._opened
        results: dict[int, Embedding] = {}
        for prompt_name in dict.fromkeys(item.prompt_name for item in items):
            numbers = [number for number, item in enumerate(items) if item.prompt_name == prompt_name]
            texts = [items[number].first for number in numbers]
            extracted = opened.extract([(text, None) for text in texts], prompt_name)
            self._count_cuts(extracted.cuts, opened.max_seq_length)
            counts = extracted.num_tokens.tolist(), extracted.num_cut.tolist()
            for number, *embedding in zip(numbers, extracted.vectors, *counts, strict=True):
                results[number] = Embedding(*embedding)
        return [results[number] for number in range(len(items))]

    def tokenize(self, text: str, prompt_name: str | None = None) -> list[Token]:
        """Return the tokens from a prompt and a text, with [CLS] and [SEP].

        Other threads may call this. Spans begin at the prompt's first character.
        """
        tokenizer = self._opened.model.tokenizer
        text = self._opened.recipe.with_prompt(prompt_name).prepare(text)
        pieces = [
            Token(text[piece.start : piece.end], piece.token_id, (piece.start, piece.end))
            for piece in find_pieces(tokenizer, text)
        ]
        first, last = (Token(name, tokenizer.ids[name], None) for name in (CLS, SEP))
        return [first, *pieces, last]

    @property
    def width(self) -> int:
        """Return the vectors' width."""
        return self._opened.width

    @property
    def has_unit_length(self) -> bool:
        """Return whether the vectors have length 1."""
        steps = self._opened.recipe.steps
        return bool(steps) and isinstance(steps[-1], Normalize)

    @property
    def longest(self) -> int | None:
        """Return the tokens to which texts are cut; None if texts are never cut."""
        return None if self._opened.recipe.long_text else self._opened.max_seq_length

    @property
    def prompt_names(self) -> tuple[str, ...]:
        """Return the prompts' names."""
        modules = self._opened.recipe.modules
        return tuple(modules.prompts) if modules else ()


class ServedModel(abc.ABC):
    """A model that answers items.

    Attributes:
        kind: classifier, multi_label, regression, tagger, question_answerer, masked_lm or encoder.
        fields: names of an item's texts in a JSON object; the second text is optional.
        is_classifier: whether it classifies texts or pairs.
        name: name in requests.
        checkpoint: the loaded checkpoint, the first one of an ensemble.
        checkpoints: all loaded checkpoints.
        source: their names, for messages.
        explains: whether it answers `plan_explanation`.
        num_cut_texts: number of texts that were cut to the model's length so far.
    """

    kind: str
    fields = ("text", "text_b")
    is_classifier = False
    explains = False

    def __init__(self, name: str, flags: ModelFlags, checkpoint: CheckpointPath, *later_members: CheckpointPath):
        self.name = name
        self.checkpoint = checkpoint
        self.checkpoints = (checkpoint, *later_members)
        self.source = ", ".join(member.name for member in self.checkpoints)
        self._flags = flags
        self._used_names: set[str] = set()
        self._model: Any = self._open()
        # A string is the reason why the model has no vectors.
        self._vectors: ServedVectors | str = "not loaded"
        self.num_cut_texts = 0

    def _open(self) -> Any:
        """Return the opened model; None for an encoder, which only has vectors."""
        return None

    def _flags_for(self, settings_class: type) -> dict[str, Any]:
        """Return the given flags that a settings class has, and note that they are used."""
        names = {flag.name for flag in every_flag(settings_class)} & self._flags.values.keys()
        self._used_names |= names
        return {name: self._flags.values[name] for name in names}

    def _load(
        self, settings_class: type, remembers: bool = True, checkpoint: CheckpointPath | None = None
    ) -> tuple[Any, AnyModel]:
        """Return the settings and the model's files, without weights; see load_with_settings."""
        flags = self._flags_for(settings_class)
        return load_with_settings(checkpoint or self.checkpoint, settings_class, flags, remembers)

    def check_flags(self) -> None:
        """Raise InputError if the model has no use for a flag that is for no other model."""
        if unused := sorted(self._flags.required - self._used_names):
            raise InputError(
                f"--{unused[0]}: the model {self.name} is a {self.kind} without this setting; leave it out"
            )

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
        return description | {"takes_pairs": self.takes_pairs, "explains": self.explains}

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

    def plan_explanation(self, item: Item, max_words: int) -> PreparedExplanation:
        """Return the masked copies that show each word's contribution to the predicted label.

        Other threads may call this.

        Args:
            item: a text or a pair.
            max_words: largest number of words that the model may see.

        Raises:
            RequestError: 400 if the model cannot explain, 413 for more words.
        """
        raise RequestError(400, f"the model {self.name} is a {self.kind}; classifiers are explained")

    @property
    def _longest_answered(self) -> int | None:
        """Return the tokens to which `answer` cuts texts; None if it computes all of a text."""
        return None

    def estimate_tokens(self, items: Sequence[Item], is_vector: bool) -> list[int]:
        """Return about how many tokens each item has, for the time that it needs.

        Args:
            is_vector: whether `vectors` computes them, and not `answer`.
        """
        longest = self.vectors.longest if is_vector else self._longest_answered
        tokens = [_LEAST_TOKENS + item.characters // _CHARACTERS_PER_TOKEN for item in items]
        return tokens if longest is None else [min(count, longest) for count in tokens]

    def _warn_of_cuts(self, max_tokens: int) -> None:
        # Warn once per process: a line per request would fill the log.
        hint = "GET /metrics counts them (bert_cut_texts_total)"
        warn_once(f"warning: {self.name}: texts are cut to {max_tokens} tokens; {hint}")

    def _count_cuts(self, cuts: CutCounts, max_tokens: int) -> None:
        if cuts.num_cut_texts:
            self._warn_of_cuts(max_tokens)
        self.num_cut_texts += cuts.num_cut_texts

    def open_vectors(self) -> None:
        """Load the encoder for `vectors`, so that no request reads a file."""
        try:
            self._vectors = self._open_vectors()
        except InputError as error:
            # Refuse wrong flags for vectors, even if the model also gives other answers.
            if self.kind == ENCODER or self._flags.required & _VECTOR_FLAGS:
                raise
            self._vectors = str(error)

    @naming_flags
    def _open_vectors(self) -> ServedVectors:
        # Do not use the training run's length, which was chosen for another purpose.
        settings, model = self._load(VectorSettings, remembers=False)
        use = build(VectorUseSettings, self._flags_for(VectorUseSettings)).vectors
        long_text = self._flags.values.get("long_text")
        self._used_names |= {"long_text"} if long_text in (TRUNCATE, WINDOWS) else set()
        length = self._flags.values.get("max_seq_length", 0)
        chosen = VectorFlags(use.pooling, use.layers, use.normalize, length, use.prompt_name, long_text == WINDOWS)
        default_length = settings.encoding.max_seq_length or DEFAULT_LENGTH
        recipe = choose_recipe(chosen, model.folder, model.config, default_length=default_length)
        if not recipe.is_followed and use.normalize is None:
            recipe = dataclasses.replace(recipe, steps=(Normalize(),))
        return ServedVectors(open_vectors(settings, model, recipe), self._count_cuts)

    @property
    def vectors(self) -> ServedVectors:
        """Return the model's vectors; raise RequestError 400 if it cannot give them."""
        if isinstance(self._vectors, str):
            raise RequestError(400, f"the model {self.name} gives no vectors: {self._vectors}")
        return self._vectors

    @property
    def columns(self) -> tuple[AnswerField, ...]:
        """Return the members that are tensors in answers; an encoder only has vectors."""
        return (AnswerField("embedding", FP32, self.vectors.width),)


def check_served(model: ServedModel) -> None:
    """Raise InputError if the model's outputs for a short text are not finite."""
    if model.kind == ENCODER:
        is_finite = bool(np.isfinite(model.vectors.embed([Item("a text")])[0].vector).all())
    else:
        text = "the [MASK] sees a dog ." if model.kind == "masked_lm" else "a text ."
        item = Item(text, text if model.fields[1] == "context" else None)
        is_finite = "NaN" not in repr(model.answer([item])).replace("nan", "NaN")
    if not is_finite:
        raise InputError(f"{model.source}: gives NaN or infinite numbers; use another checkpoint")
