"""What speaks against a model's flags and files although it could run: a warning, and an error with
--strict.
"""

import math
import os

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.lines import input_name
from bert_cli.base.log import LOG
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.model.shapes import encoder_shapes
from bert_cli.runs.loading.checkpoints import FOLDER
from bert_cli.settings.groups import ModelFiles
from bert_cli.text.tokenizer_files import StoredTokenizer
from bert_cli.text.tokenizer_settings import LOWER_CASE
from bert_cli.text.vocabulary import CLS, SEP, UNK, Vocabulary, looks_cased
from bert_cli.weights.path import HUB, CheckpointPath

_LARGE = 10**9  # bytes of weights, from which the shapes are compared before the model is built
MOST_UNKNOWN = 0.05  # share of the words that a vocabulary need not know

# Folder names of Google's releases, from which the original infers the casing.
_LOWER_CASED = (
    "uncased_L-24_H-1024_A-16",
    "uncased_L-12_H-768_A-12",
    "multilingual_L-12_H-768_A-12",
    "chinese_L-12_H-768_A-12",
)
_CASED = ("cased_L-12_H-768_A-12", "cased_L-24_H-1024_A-16", "multi_cased_L-12_H-768_A-12")


def doubt(message: str, strict: bool) -> None:
    """A warning; with --strict an InputError."""
    if strict:
        raise InputError(f"{message} (an error with --strict)")
    LOG.warning("warning: %s", message)


def report_tokenizer(stored: StoredTokenizer, do_lower_case: bool | None, strict: bool) -> None:
    """Log what is unusual in a tokenizer, and report files that contradict each other.

    Args:
        stored: the tokenizer.
        do_lower_case: value of the flag, which decides the casing; None: not given.
        strict: see `doubt`.
    """
    for setting, conflict in stored.conflicts.items():
        if setting != LOWER_CASE or do_lower_case is None:
            doubt(conflict, strict)
    is_lower = do_lower_case
    if is_lower is None:
        is_lower = stored.casing is None or stored.casing[1]
    if stored.vocabulary and (unusual := stored.settings.describe(is_lower)):
        LOG.info("%s: the tokenizer has %s", stored.vocabulary.path, "; ".join(unusual))


def check_casing(
    do_lower_case: bool,
    vocabulary: Vocabulary,
    checkpoint: CheckpointPath | None,
    stated: tuple[str, bool] | None = None,
    strict: bool = False,
) -> None:
    """InputError where the name of a release speaks against do_lower_case; a doubt where something
    else does.

    stated: (file, do_lower_case) of the model's own files, which count before the name of its
    folder.
    """
    # The original infers the casing from this name alone, and refuses the wrong flag.
    name = os.path.basename(os.path.abspath(checkpoint.folder)) if checkpoint else ""
    if name in _LOWER_CASED and not do_lower_case:
        raise InputError(f"--do_lower_case=false, but {name} is a lower-cased model; leave the flag out")
    if name in _CASED and do_lower_case:
        raise InputError(f"--do_lower_case is true, but {name} is a cased model; give --do_lower_case=false")
    now = str(do_lower_case).lower()
    if stated and stated[1] != do_lower_case:
        doubt(f"--do_lower_case={now}, but {stated[0]} says {str(stated[1]).lower()}; leave the flag out", strict)
    # "uncased" holds "cased", so one test finds both kinds of names.
    elif not stated and "cased" in name.lower() and ("uncased" in name.lower()) != do_lower_case:
        right = str(not do_lower_case).lower()
        doubt(f"--do_lower_case is {now}, but the name {name} says {right}; give --do_lower_case={right}", strict)
    if do_lower_case and looks_cased(vocabulary):
        doubt(
            f"{vocabulary.path} has words with capitals, but text is lower-cased; --do_lower_case=false keeps them",
            strict,
        )


def check_large_model(config: BertConfig, checkpoint: CheckpointPath) -> None:
    """Raise InputError if a large model's config does not have the sizes of its checkpoint.

    Loading compares them too, but only after the model has taken its memory, which a damaged config
    may not leave.
    """
    shapes = encoder_shapes(config)
    if checkpoint.kind == HUB or 4 * sum(map(math.prod, shapes.values())) < _LARGE:
        return
    # Import late: it imports safetensors.
    from bert_cli.weights.checkpoint import check_shapes, open_checkpoint

    check_shapes(shapes, open_checkpoint(checkpoint))


def check_sizes(
    config: BertConfig | ModuleConfig,
    vocabulary: Vocabulary | None,
    max_seq_length: int,
    config_name: str,
    strict: bool = False,
) -> None:
    """InputError where vocabulary (if there is one), config and max_seq_length do not fit together.

    config_name: what messages call the config. strict: see `doubt`.
    """
    if vocabulary and vocabulary.size > config.vocab_size:
        raise InputError(
            f"{vocabulary.path} has {vocabulary.size} entries, but {config_name} says vocab_size "
            f"{config.vocab_size}: they belong to different models; check --vocab_file and "
            "--bert_config_file"
        )
    # No error: published models pad their table to a multiple of 8 or 64 rows.
    if vocabulary and vocabulary.size < config.vocab_size:
        doubt(
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
    """doubt_unknown of the words of a split; InputError for more than half of them without
    --allow_unknown.

    A word is a piece without ## in front; [CLS] and [SEP] are none. An unknown word is one [UNK].
    """
    # One lookup for all tokens of a split instead of a test for each.
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
    doubt_unknown(split, unknown, words, "words", vocabulary, flags.strict)


def doubt_unknown(place: str, unknown: int, count: int, unit: str, vocabulary: Vocabulary, strict: bool) -> None:
    """A doubt where more than MOST_UNKNOWN of the `count` units (words, tokens) of a place are
    [UNK].
    """
    if unknown > MOST_UNKNOWN * count:
        doubt(
            f"{place}: {unknown} of {count} {unit} ({unknown / count:.0%}) are {UNK}, as "
            f"{vocabulary.path} does not have them; check --vocab_file and --do_lower_case",
            strict,
        )


class PairCheck:
    """Report, once, that the second texts of pairs have no token type in a model with a single one.

    Attributes:
        is_due: whether a pair would be reported.
    """

    def __init__(self, config: BertConfig | ModuleConfig, config_name: str, strict: bool = False):
        """config_name: the config's name in the message. strict: see `doubt`."""
        self.is_due = isinstance(config, BertConfig) and config.type_vocab_size == 1
        self._config_name = config_name
        self._strict = strict

    def __call__(self, sequences: RaggedFeatures) -> None:
        """Report it if there is a pair among the sequences."""
        if self.is_due:
            self.report(bool(sequences.segment_ids.any()))

    def report(self, has_pairs: bool) -> None:
        """Report it if the data has pairs."""
        if self.is_due and has_pairs:
            self.is_due = False
            doubt(
                f"{self._config_name} says type_vocab_size 1, so the second text of a pair has no "
                "token type of its own: only [SEP] separates the two texts",
                self._strict,
            )


def check_first_unknown(source: str, sequences: RaggedFeatures, vocabulary: Vocabulary, flags: ModelFiles) -> None:
    """check_unknown of the first lines of `source`, which represent the others: after an error
    nothing is written.
    """
    check_unknown(f"first lines of {input_name(source)}", sequences, vocabulary, flags)
