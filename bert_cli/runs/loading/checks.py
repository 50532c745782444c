"""Checks for suspicious flags and model files: a warning, or an error with --strict."""

import os

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.lines import input_name
from bert_cli.base.log import LOG
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.runs.loading.builtin import FOLDER
from bert_cli.settings.groups import ModelFiles
from bert_cli.text.tokenizer_files import StoredTokenizer
from bert_cli.text.tokenizer_settings import LOWER_CASE
from bert_cli.text.vocabulary import CLS, SEP, UNK, Vocabulary, looks_cased
from bert_cli.weights.path import CheckpointPath

MAX_UNKNOWN = 0.05  # share of unknown words that needs no warning

# Directory names of Google's releases. The original infers the casing from them.
_LOWER_CASED = (
    "uncased_L-24_H-1024_A-16",
    "uncased_L-12_H-768_A-12",
    "multilingual_L-12_H-768_A-12",
    "chinese_L-12_H-768_A-12",
)
_CASED = ("cased_L-12_H-768_A-12", "cased_L-24_H-1024_A-16", "multi_cased_L-12_H-768_A-12")


def warn_or_fail(message: str, strict: bool) -> None:
    """Log a warning, or raise InputError with --strict."""
    if strict:
        raise InputError(f"{message} (an error with --strict)")
    LOG.warning("warning: %s", message)


def report_tokenizer(stored: StoredTokenizer, do_lower_case: bool | None, strict: bool) -> None:
    """Log unusual settings of a tokenizer, and report files that contradict each other.

    Args:
        stored: the tokenizer.
        do_lower_case: flag value, which decides the casing; None if it is not given.
        strict: see `warn_or_fail`.
    """
    for setting, conflict in stored.conflicts.items():
        if setting != LOWER_CASE or do_lower_case is None:
            warn_or_fail(conflict, strict)
    is_lower = do_lower_case
    if is_lower is None:
        is_lower = stored.casing is None or stored.casing[1]
    if stored.vocabulary and (unusual := stored.settings.describe(is_lower)):
        LOG.info("%s: the tokenizer has %s", stored.vocabulary.path, "; ".join(unusual))


def check_casing(
    do_lower_case: bool,
    vocabulary: Vocabulary,
    checkpoint: CheckpointPath | None,
    stored_casing: tuple[str, bool] | None = None,
    strict: bool = False,
) -> None:
    """Check that do_lower_case fits the model.

    Args:
        do_lower_case: whether text is lower-cased.
        vocabulary: the vocabulary.
        checkpoint: checkpoint that is loaded, or None.
        stored_casing: (file, do_lower_case) from the model's files; None if they do not have it.
            It is used instead of the directory name.
        strict: see `warn_or_fail`.

    Raises:
        InputError: if the directory is named like one of Google's releases with the other casing.
            Other conflicts are warnings, see `warn_or_fail`.
    """
    # The original infers the casing from this name alone, and refuses the wrong flag.
    name = os.path.basename(os.path.abspath(checkpoint.folder)) if checkpoint else ""
    if name in _LOWER_CASED and not do_lower_case:
        raise InputError(f"--do_lower_case=false, but {name} is a lower-cased model; leave the flag out")
    if name in _CASED and do_lower_case:
        raise InputError(f"--do_lower_case is true, but {name} is a cased model; give --do_lower_case=false")
    flag = str(do_lower_case).lower()
    if stored_casing and stored_casing[1] != do_lower_case:
        warn_or_fail(
            f"--do_lower_case={flag}, but {stored_casing[0]} says {str(stored_casing[1]).lower()}; leave the flag out",
            strict,
        )
    # "uncased" contains "cased", so one test finds both.
    elif not stored_casing and "cased" in name.lower() and ("uncased" in name.lower()) != do_lower_case:
        expected = str(not do_lower_case).lower()
        warn_or_fail(
            f"--do_lower_case is {flag}, but the name {name} says {expected}; give --do_lower_case={expected}",
            strict,
        )
    if do_lower_case and looks_cased(vocabulary):
        warn_or_fail(
            f"{vocabulary.path} has words with capitals, but text is lower-cased; --do_lower_case=false keeps them",
            strict,
        )


def check_sizes(
    config: BertConfig | ModuleConfig,
    vocabulary: Vocabulary | None,
    max_seq_length: int,
    config_name: str,
    strict: bool = False,
) -> None:
    """Check that vocabulary, config and max_seq_length fit together.

    Args:
        config: the model's config.
        vocabulary: the vocabulary, or None.
        max_seq_length: maximum number of tokens in a sequence.
        config_name: the config's name in messages.
        strict: see `warn_or_fail`.

    Raises:
        InputError: if they do not fit together.
    """
    if vocabulary and vocabulary.size > config.vocab_size:
        raise InputError(
            f"{vocabulary.path} has {vocabulary.size} entries, but {config_name} says vocab_size "
            f"{config.vocab_size}: they belong to different models; check --vocab_file and "
            "--bert_config_file"
        )
    # This is no error: some published models pad their table to a multiple of 8 or 64 rows.
    if vocabulary and vocabulary.size < config.vocab_size:
        warn_or_fail(
            f"{vocabulary.path} has {vocabulary.size} entries, fewer than vocab_size "
            f"{config.vocab_size}; is it the model's own? --vocab_file gives another",
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
        split: name of the split, for messages.
        sequences: token ids of the split.
        vocabulary: the vocabulary.
        flags: flag values.

    Raises:
        InputError: if more than half are unknown and --allow_unknown is not set.
    """
    # Use one lookup for all tokens in a split instead of a test for each.
    is_word = np.array([not token.startswith("##") for token in vocabulary.tokens])
    is_word[[vocabulary.ids[CLS], vocabulary.ids[SEP]]] = False
    words = int(is_word[sequences.token_ids].sum())
    unknown = int((sequences.token_ids == vocabulary.ids[UNK]).sum())
    if unknown > words / 2 and not flags.allow_unknown:
        is_builtin = files.make_absolute(vocabulary.path).startswith(os.path.join(FOLDER, ""))
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
        vocabulary: the vocabulary.
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
            config: the model's config.
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
        vocabulary: the vocabulary.
        flags: flag values.
    """
    check_unknown(f"first lines of {input_name(source)}", sequences, vocabulary, flags)
