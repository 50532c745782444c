"""Checks that a model fits its flags and data: a warning, or an error with --strict."""

import os

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.lines import input_name
from bert_cli.base.log import warn_or_fail
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.opening.paths import BUILTIN
from bert_cli.settings.groups import ModelFiles
from bert_cli.text.vocabulary import CLS, SEP, UNK, Vocabulary

MAX_UNKNOWN = 0.05  # share of unknown words that needs no warning


def check_sizes(
    config: BertConfig | ModuleConfig,
    vocabulary: Vocabulary | None,
    max_seq_length: int,
    config_name: str,
    strict: bool = False,
    has_weights: bool = True,
) -> None:
    """Check that vocabulary, config and max_seq_length fit together.

    Args:
        vocabulary: the vocabulary, or None.
        max_seq_length: maximum number of tokens in a sequence.
        config_name: the config's name in messages.
        strict: see `warn_or_fail`.
        has_weights: whether the model has weights; False if training starts from random ones.

    Raises:
        InputError: if they do not fit together.
    """
    if vocabulary and vocabulary.size > config.vocab_size:
        remedy = (
            f"add rows for a longer one with bert-convert --from=MODEL --vocab_file={vocabulary.path} "
            f"--resize_vocab={vocabulary.size} --to=LARGER_MODEL"
            if has_weights
            else f"set its vocab_size to {vocabulary.size}"
        )
        raise InputError(
            f"{vocabulary.path} has {vocabulary.size} entries, but the model has {config.vocab_size} words "
            f"({config_name}); give the model's own --vocab_file, or {remedy}"
        )
    # This is no error: some published models pad their table to a multiple of 8 or 64 rows.
    if vocabulary and vocabulary.size < config.vocab_size:
        warn_or_fail(
            f"{vocabulary.path} has {vocabulary.size} entries, fewer than vocab_size "
            f"{config.vocab_size}; is it the model's own? --vocab_file gives another, and bert-convert "
            f"--resize_vocab={vocabulary.size} removes rows",
            strict,
        )
    if max_seq_length > config.max_position_embeddings:
        raise InputError(
            f"--max_seq_length={max_seq_length} is above the model's "
            f"{config.max_position_embeddings} positions ({config_name}); give at most "
            f"{config.max_position_embeddings}"
        )


def check_unknown(split: str, sequences: RaggedFeatures, vocabulary: Vocabulary, flags: ModelFiles) -> None:
    """Check how many words of a split are unknown, see warn_unknown.

    Words are counted as pieces without ##, except [CLS] and [SEP]. An unknown word is one [UNK].

    Args:
        split: the name in messages.
        sequences: token ids.

    Raises:
        InputError: if more than half are unknown and --allow_unknown is not set.
    """
    # Use one lookup for all tokens in a split instead of a test for each.
    is_word = np.array([not token.startswith("##") for token in vocabulary.tokens])
    is_word[[vocabulary.ids[CLS], vocabulary.ids[SEP]]] = False
    words = int(is_word[sequences.token_ids].sum())
    unknown = int((sequences.token_ids == vocabulary.ids[UNK]).sum())
    if unknown > words / 2 and not flags.allow_unknown:
        is_builtin = files.make_absolute(vocabulary.path).startswith(os.path.join(BUILTIN, ""))
        cause = "the built-in model is for English" if is_builtin else "it may be one of another language"
        raise InputError(
            f"{split}: {unknown} of {words} words ({unknown / words:.0%}) are {UNK}: the "
            f"vocabulary {vocabulary.path} does not fit the text ({cause}); give --init_checkpoint "
            "a model for the language of the text (docs/models.md lists some), or --allow_unknown "
            "to go on"
        )
    warn_unknown(split, unknown, words, "words", vocabulary, flags.strict)


def warn_unknown(place: str, unknown: int, count: int, unit: str, vocabulary: Vocabulary, strict: bool) -> None:
    """Warn if a share above MAX_UNKNOWN is [UNK].

    Args:
        place: split or file, for the message.
        unknown: number of unknown words or tokens.
        count: number of words or tokens.
        unit: "words" or "tokens".
        strict: see `warn_or_fail`.
    """
    if unknown > MAX_UNKNOWN * count:
        warn_or_fail(
            f"{place}: {unknown} of {count} {unit} ({unknown / count:.0%}) are {UNK}, as "
            f"{vocabulary.path} does not have them; check --vocab_file and --do_lower_case",
            strict,
        )


class PairCheck:
    """A warning for text pairs in a model with a single token type, which is logged once.

    Attributes:
        is_due: whether a pair would be reported.
    """

    def __init__(self, config: BertConfig | ModuleConfig, config_name: str, strict: bool = False):
        """Decide whether a pair would be reported.

        Args:
            config_name: the config's name in the message.
            strict: see `warn_or_fail`.
        """
        self.is_due = isinstance(config, BertConfig) and config.type_vocab_size == 1
        self._config_name = config_name
        self._strict = strict

    def __call__(self, sequences: RaggedFeatures) -> None:
        """Warn if there is a pair among the sequences."""
        if self.is_due:
            self.report(bool(sequences.segment_ids.any()))

    def report(self, has_pairs: bool) -> None:
        """Warn if the data has pairs."""
        if self.is_due and has_pairs:
            self.is_due = False
            warn_or_fail(
                f"{self._config_name} says type_vocab_size 1, so the second text of a pair has no "
                "token type of its own: only [SEP] separates the two texts",
                self._strict,
            )


def check_first_unknown(source: str, sequences: RaggedFeatures, vocabulary: Vocabulary, flags: ModelFiles) -> None:
    """Check the first lines of an input before anything is written, see check_unknown.

    Args:
        source: input flag value, for messages.
        sequences: token ids of the first lines.
    """
    check_unknown(f"first lines of {input_name(source)}", sequences, vocabulary, flags)
