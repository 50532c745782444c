"""Which vocabulary, config and weights a run uses, for all commands; found before TensorFlow is imported."""

import dataclasses
import json
import logging
import os
from typing import NamedTuple

from bert_cli import files
from bert_cli.errors import InputError
from bert_cli.flags import read_flags
from bert_cli.model.checkpoint_path import CheckpointPath, find_checkpoint, latest_checkpoint
from bert_cli.model.config import BertConfig, read_config
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import Vocabulary, looks_cased, read_vocabulary

LOG = logging.getLogger("bert_cli")
BUILTIN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "builtin")

# Folder names of Google's releases, from which the original tells the casing.
_LOWER_CASED = (
    "uncased_L-24_H-1024_A-16",
    "uncased_L-12_H-768_A-12",
    "multilingual_L-12_H-768_A-12",
    "chinese_L-12_H-768_A-12",
)
_CASED = ("cased_L-12_H-768_A-12", "cased_L-24_H-1024_A-16", "multi_cased_L-12_H-768_A-12")


@dataclasses.dataclass(frozen=True)
class ModelSources:
    """Files of a model. `checkpoint` is None for a start from random weights; `is_builtin`: nothing was given at all.

    `vocab_file` is None only where find_sources was told that there may be none.
    """

    vocab_file: str | None
    config_file: str
    checkpoint: CheckpointPath | None
    is_builtin: bool = False

    @property
    def saved_flags(self) -> dict[str, str]:
        """Flags of the run of ours that made the checkpoint; empty for a checkpoint from elsewhere."""
        return read_flags(os.path.join(self.checkpoint.folder, "flags.txt")) if self.checkpoint else {}


def find_sources(
    vocab_file: str | None, bert_config_file: str | None, checkpoint: CheckpointPath | None, needs_vocab: bool = True
) -> ModelSources:
    """Complete what the flags give from beside the checkpoint, or, where nothing is given, from the built-in model.

    needs_vocab: False for a run on token ids, which can do without a vocabulary but has no use for the built-in model.
    Raises InputError, naming the flag, for a file that is not there.
    """
    for path, flag in ((vocab_file, "vocab_file"), (bert_config_file, "bert_config_file")):
        if path:
            files.check_readable(path, flag)
    if needs_vocab and not (vocab_file or bert_config_file or checkpoint):
        return ModelSources(os.path.join(BUILTIN, "vocab.txt"), os.path.join(BUILTIN, "bert_config.json"), None, True)
    if checkpoint:
        vocab_file = vocab_file or checkpoint.companion("vocab.txt")
        bert_config_file = bert_config_file or checkpoint.companion("bert_config.json", "config.json")
    where = f" (none stands in {checkpoint.folder})" if checkpoint else ""
    if needs_vocab and not vocab_file:
        raise InputError(f"--vocab_file is needed{where}: give the vocab.txt that belongs to this model")
    if not bert_config_file:
        raise InputError(f"--bert_config_file is needed{where}: give the bert_config.json that belongs to this model")
    return ModelSources(vocab_file, bert_config_file, checkpoint)


def trained_checkpoint(init_checkpoint: str | None, output_dir: str) -> CheckpointPath:
    """The checkpoint for a run that does not train: what --init_checkpoint names, unless output_dir holds a newer state.

    As in the original, the newest checkpoint of output_dir wins over an --init_checkpoint from elsewhere; one from within
    output_dir, such as its model.ckpt-<number>, is taken as it is. InputError where there is none at all.
    """
    chosen = find_checkpoint(init_checkpoint) if init_checkpoint else None
    latest = latest_checkpoint(output_dir)
    if chosen and (latest is None or os.path.realpath(chosen.folder) == os.path.realpath(output_dir)):
        return chosen
    if latest is None:
        raise InputError(
            f"{output_dir}: holds no trained model; check --output_dir, add --do_train, or give --init_checkpoint a "
            "fine-tuned one"
        )
    return find_checkpoint(latest)


def choose_checkpoint(init_checkpoint: str | None, output_dir: str, do_train: bool) -> CheckpointPath | None:
    """The checkpoint whose weights a run takes first: for training what --init_checkpoint names, else a trained one."""
    given = find_checkpoint(init_checkpoint) if init_checkpoint else None
    if do_train:
        return given
    chosen = trained_checkpoint(init_checkpoint, output_dir)
    if given and chosen != given:
        LOG.warning("warning: %s comes first, --init_checkpoint is not used", chosen.location)
    return chosen


class OpenedModel(NamedTuple):
    """What is known of a model before TensorFlow is there; whether it lower-cases, its tokenizer tells."""

    sources: ModelSources
    config: BertConfig
    vocabulary: Vocabulary
    tokenizer: FullTokenizer


def open_model(settings, checkpoint: CheckpointPath | None, max_seq_length: int) -> OpenedModel:
    """Read vocabulary and config and check them against each other.

    `settings` are those of a command, with vocab_file, bert_config_file, gelu and do_lower_case.
    """
    found = find_sources(settings.vocab_file, settings.bert_config_file, checkpoint)
    config = read_config(found.config_file, settings.gelu)
    vocabulary = read_vocabulary(found.vocab_file)
    check_sizes(config, vocabulary, max_seq_length, found)
    do_lower_case = find_casing(settings.do_lower_case, found)
    check_casing(do_lower_case, vocabulary, checkpoint)
    return OpenedModel(found, config, vocabulary, FullTokenizer(vocabulary, do_lower_case))


def find_casing(given: bool | None, sources: ModelSources) -> bool:
    """do_lower_case: what the flag says, else what the model's own files say, else the original's default, True."""
    if given is not None:
        return given
    saved = sources.saved_flags.get("do_lower_case")
    if saved is not None:
        return saved == "true"
    tokenizer = sources.checkpoint.companion("tokenizer_config.json") if sources.checkpoint else None
    if tokenizer:
        try:
            values = json.loads(files.read_text(tokenizer))
        except json.JSONDecodeError as error:
            raise InputError(f"{tokenizer}:{error.lineno}: is not JSON: {error.msg}; give --do_lower_case") from None
        if isinstance(values, dict) and isinstance(values.get("do_lower_case"), bool):
            return values["do_lower_case"]
    return True


def check_casing(do_lower_case: bool, vocabulary: Vocabulary, checkpoint: CheckpointPath | None) -> None:
    """InputError where a Google folder's name speaks against do_lower_case; a warning where the vocabulary does."""
    name = os.path.basename(os.path.abspath(checkpoint.folder)) if checkpoint else ""
    if name in _LOWER_CASED and not do_lower_case:
        raise InputError(f"--do_lower_case=false, but {name} is a lower-cased model; leave the flag out")
    if name in _CASED and do_lower_case:
        raise InputError(f"--do_lower_case is true, but {name} is a cased model; give --do_lower_case=false")
    if do_lower_case and looks_cased(vocabulary):
        LOG.warning(
            "warning: %s has words with capitals, but text is lower-cased; --do_lower_case=false keeps them",
            vocabulary.path,
        )


def check_sizes(config: BertConfig, vocabulary: Vocabulary | None, max_seq_length: int, sources: ModelSources) -> None:
    """InputError where vocabulary (if there is one), config and max_seq_length do not fit together."""
    if vocabulary and vocabulary.size > config.vocab_size:
        raise InputError(
            f"{sources.vocab_file} has {vocabulary.size} entries, but {sources.config_file} says vocab_size "
            f"{config.vocab_size}: they belong to different models; check --vocab_file and --bert_config_file"
        )
    if vocabulary and vocabulary.size < config.vocab_size:
        LOG.warning(
            "warning: %s has %d entries, fewer than vocab_size %d; is it the model's own?",
            sources.vocab_file, vocabulary.size, config.vocab_size,
        )  # fmt: skip
    if max_seq_length > config.max_position_embeddings:
        raise InputError(
            f"--max_seq_length={max_seq_length} is above the model's {config.max_position_embeddings} positions "
            f"({sources.config_file}); give at most {config.max_position_embeddings}"
        )
