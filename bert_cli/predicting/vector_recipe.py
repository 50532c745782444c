"""Choice of a text's vector: flags, or the modules of a directory of sentence-transformers.

A flag beats the directory, and the log names the modules that it replaces.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import list_names
from bert_cli.base.log import LOG, inform_once
from bert_cli.base.pooling import MEAN, MODES, NONE, POOLER, modes_of
from bert_cli.examples.text_lines import TextLine
from bert_cli.features.extraction import ExtractionFeatures, extraction_chunks
from bert_cli.features.packing import check_max_seq_length
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.sentence.modules import SentenceModules, read_modules
from bert_cli.sentence.steps import Normalize, Step, Truncate, apply_steps, final_width, with_normalize
from bert_cli.settings.groups import LAST_LAYER, LAST_LAYERS
from bert_cli.text.tokenization import FullTokenizer

# Maximum length of bert-extract-features for models without one in their files.
DEFAULT_LENGTH = 128


@dataclasses.dataclass(frozen=True)
class VectorFlags:
    """Flags for vectors; None, and a length of 0, mean that the model decides.

    Attributes:
        pooling: value of --pooling.
        layers: value of --layers.
        normalize: value of --normalize.
        max_seq_length: value of --max_seq_length.
        prompt_name: value of --prompt_name.
        long_text: whether long texts have several windows.
        words: whether words have vectors, and not texts.
        strict: whether an unknown key in a module's files is an error.
    """

    pooling: str | None = None
    layers: str | None = None
    normalize: bool | None = None
    max_seq_length: int = 0
    prompt_name: str | None = None
    long_text: bool = False
    words: bool = False
    strict: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class VectorRecipe:
    """The steps from a text to its vector, apart from the encoder.

    Attributes:
        pooling: value of --pooling.
        layers: value of --layers.
        steps: steps after pooling.
        max_seq_length: maximum number of tokens in a window.
        prompt_name: name of the prompt before each text, or None.
        skips_prompt: whether pooling leaves out the prompt's tokens.
        lower_cases: whether texts are lower-cased before the tokenizer reads them.
        long_text, words: see VectorFlags.
        modules: the modules of the model's directory, or None.
        is_followed: whether `modules` determine the vectors.
    """

    pooling: str
    layers: str
    steps: tuple[Step, ...]
    max_seq_length: int
    prompt_name: str | None = None
    skips_prompt: bool = False
    lower_cases: bool = False
    long_text: bool = False
    words: bool = False
    modules: SentenceModules | None = None
    is_followed: bool = False

    @property
    def prompt(self) -> str:
        """Return the text before each text, "" for none."""
        return self.modules.prompts[self.prompt_name] if self.modules and self.prompt_name else ""

    def chunks(
        self, lines: Iterable[TextLine], tokenizer: FullTokenizer, **limits: Any
    ) -> Iterator[ExtractionFeatures]:
        """Yield all lines as features, with the prompt before each text.

        Args:
            limits: see extraction_chunks.
        """
        lines = map(self._prepare_line, lines) if self.prompt or self.lower_cases else lines
        chunks = extraction_chunks(lines, tokenizer, self.max_seq_length, self.long_text, self.words, **limits)
        if not (num_skipped := self.num_skipped(tokenizer)):
            yield from chunks
            return
        for features in chunks:
            yield dataclasses.replace(features, num_skipped=np.full(len(features), num_skipped))

    def num_skipped(self, tokenizer: FullTokenizer) -> int:
        """Return the number of tokens at the start of each text that pooling leaves out."""
        if not (self.prompt and self.skips_prompt):
            return 0
        return len(tokenizer.encode(self._lower(self.prompt))) + 1  # with [CLS]

    def prepare(self, text: str) -> str:
        """Return a text as the tokenizer reads it, after the prompt."""
        return self._lower(self.prompt + text)

    def _prepare_line(self, line: TextLine) -> TextLine:
        text_b = None if line.text_b is None else self._lower(line.text_b)
        return line._replace(text_a=self.prepare(line.text_a), text_b=text_b)

    def _lower(self, text: str) -> str:
        # One character at a time, as the normalizer of `tokenizers` does.
        return "".join(map(str.lower, text)) if self.lower_cases else text

    def finish(self, vectors: np.ndarray) -> np.ndarray:
        """Return the final vectors from pooled ones."""
        return apply_steps(self.steps, vectors)

    def width(self, pooled_width: int) -> int:
        """Return the width of the final vectors."""
        return final_width(self.steps, pooled_width)

    def facts(self) -> dict[str, Any]:
        """Return the properties that determine vectors, by flag name."""
        steps = [str(step) for step in self.steps]
        facts: dict[str, Any] = {"pooling": self.pooling, "max_seq_length": self.max_seq_length}
        if steps not in ([], [str(Normalize())]):
            facts["modules"] = ", ".join(steps)
        return facts | ({"prompt": self.prompt} if self.prompt else {})

    def to_modules(self, encoder_width: int) -> SentenceModules | None:
        """Return modules that compute these vectors; None if no modules can.

        Args:
            encoder_width: length of the encoder's vectors.
        """
        modes = modes_of(self.pooling)
        is_truncated = any(isinstance(step, Truncate) for step in self.steps[:-1])
        if not set(modes) <= set(MODES) or self.layers != LAST_LAYER or self.long_text or is_truncated:
            return None
        prompts: dict[str, Any] = {}
        if self.modules:
            prompts = {
                "prompts": self.modules.prompts,
                "default_prompt_name": self.prompt_name,
                "includes_prompt": self.modules.includes_prompt,
                "lower_cases": self.modules.lower_cases,
            }
        return SentenceModules(
            "", encoder_width, self.pooling, self.steps, max_seq_length=self.max_seq_length, **prompts
        )

    def with_prompt(self, name: str | None) -> "VectorRecipe":
        """Return the recipe with the prompt of this name, or the same one for None."""
        if name is None:
            return self
        _check_prompt(name, self.modules)
        return dataclasses.replace(self, prompt_name=name)


def choose_recipe(
    flags: VectorFlags,
    folder: str,
    config: BertConfig | ModuleConfig,
    default_pooling: str = MEAN,
    default_length: int = DEFAULT_LENGTH,
) -> VectorRecipe:
    """Return the recipe that the flags choose for a model, and log which modules they replace.

    Args:
        folder: the model's directory.
        default_pooling, default_length: pooling and maximum length for a model without modules.

    Raises:
        InputError: if the directory's modules cannot be computed, or a flag does not fit them.
    """
    max_positions, encoder_width = config.max_position_embeddings, config.hidden_size
    # A user who asks for tokens or layers needs none of the modules, so let them be of any type.
    is_own_choice = flags.words or flags.pooling in (NONE, POOLER)
    modules = None if is_own_choice and not flags.prompt_name else read_modules(folder, flags.strict)
    own_pooling = modules.pooling if modules else default_pooling
    pooling = flags.pooling or (NONE if flags.words else own_pooling)
    replacing = [f"--{name}" for name in ("layers", "words") if getattr(flags, name)]
    replacing += [f"--pooling={flags.pooling}"] if flags.pooling and flags.pooling != own_pooling else []
    is_followed = bool(modules) and not replacing
    steps: tuple[Step, ...] = modules.steps if modules and is_followed else ()
    if flags.normalize is not None:
        steps = with_normalize(steps, flags.normalize)
    if modules and is_followed:
        note = "" if steps is modules.steps else f"; --normalize={str(flags.normalize).lower()} counts"
        LOG.info("%s: %s%s", modules.source, modules.describe(), note)
    elif modules:
        LOG.info("%s: %s is given, so these are not used: %s", modules.source, replacing[0], modules.describe())
    own_length = (modules.max_seq_length or max_positions) if modules else default_length
    length = min(flags.max_seq_length or own_length, max_positions)
    check_max_seq_length(length, pairs=flags.long_text)
    if not (flags.max_seq_length or modules):
        inform_once(f"{folder}: vectors are of up to {length} tokens of a text, as --max_seq_length is not given")
    has_prompt = pooling != NONE or flags.prompt_name
    if flags.prompt_name:
        _check_prompt(flags.prompt_name, modules)
    refuse_if(
        modules and modules.encoder_width != encoder_width,
        f"{modules.source if modules else ''}: its pooling takes vectors of {modules.encoder_width if modules else 0} "
        f"numbers, and the encoder gives {encoder_width}; they belong to different models",
    )
    prompt_name = flags.prompt_name or (modules.default_prompt_name if modules and has_prompt else None)
    return VectorRecipe(
        pooling=pooling,
        layers=flags.layers or (LAST_LAYERS if pooling == NONE and not flags.words else LAST_LAYER),
        steps=steps,
        max_seq_length=length,
        prompt_name=prompt_name,
        skips_prompt=modules is not None and not modules.includes_prompt,
        lower_cases=modules is not None and modules.lower_cases,
        long_text=flags.long_text,
        words=flags.words,
        modules=modules,
        is_followed=is_followed,
    )


def _check_prompt(name: str, modules: SentenceModules | None) -> None:
    if modules is None:
        raise InputError(f"--prompt_name={name}: this model's directory has no modules.json, and so no prompts")
    names = list_names(sorted(modules.prompts)) or "no prompt"
    refuse_if(name not in modules.prompts, f"--prompt_name={name}: this model has no such prompt; it has {names}")
