"""Which vocabulary, config and weights a run uses, for all commands; found before TensorFlow is imported."""

import dataclasses
import hashlib
import json
import logging
import os
from typing import Any, Generic, Literal, NamedTuple, TypeVar, overload

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.json_files import read_json
from bert_cli.base.lines import read_text, split_lines
from bert_cli.base.names import CONFIG, FLAGS, HUGGING_FACE_CONFIG, LABELS, TOKENIZER_CONFIG, VOCABULARY
from bert_cli.flags.saved import read_flags
from bert_cli.model.config import BertConfig, ModuleConfig, read_config, read_module_config
from bert_cli.runs.loading import builtin, checks
from bert_cli.runs.loading.checkpoints import find_module
from bert_cli.runs.loading.hub_modules import module_bert, module_casing, trusted_module
from bert_cli.runs.output_dir.manifest import check_config, check_labels, check_vocabulary
from bert_cli.settings.groups import Hub, ModelFiles
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import Vocabulary, read_vocabulary
from bert_cli.weights.path import HUB, HUGGING_FACE, CheckpointPath

LOG = logging.getLogger("bert_cli")


@dataclasses.dataclass(frozen=True)
class ModelSources:
    """Files of a model. `checkpoint` is None for a start from random weights; `is_builtin`: of the network in the box.

    `vocab_file` is None only where find_sources was told that there may be none, `config_file` only for a module for
    tensorflow-hub, whose variables tell its sizes. `preprocessor` is a module that knows the casing.
    """

    vocab_file: str | None
    config_file: str | None
    checkpoint: CheckpointPath | None
    is_builtin: bool = False
    preprocessor: CheckpointPath | None = None

    @property
    def config_name(self) -> str:
        """What messages call the place that the config comes from."""
        return self.config_file or self.required_checkpoint.name

    @property
    def required_checkpoint(self) -> CheckpointPath:
        """The checkpoint of a run that has one: it does not train, or its config has no file but comes from a module."""
        assert self.checkpoint is not None, "InputError is raised before, where it is missing"
        return self.checkpoint

    @property
    def required_vocab_file(self) -> str:
        """vocab_file where find_sources was told that there must be one."""
        assert self.vocab_file is not None, "InputError is raised before, where it is missing"
        return self.vocab_file

    @property
    def saved_flags(self) -> dict[str, str]:
        """Flags of the run of ours that made the checkpoint; empty for a checkpoint from elsewhere."""
        return read_flags(os.path.join(self.checkpoint.folder, FLAGS)) if self.checkpoint else {}


@dataclasses.dataclass(frozen=True)
class StoredModel(ModelSources):
    """Files of a model that is to be converted or exported."""

    checkpoint: CheckpointPath


def find_sources(
    vocab_file: str | None,
    bert_config_file: str | None,
    checkpoint: CheckpointPath | None,
    needs_vocab: bool = True,
    hub_preprocess: str | None = None,
) -> ModelSources:
    """Complete what the flags give from beside the checkpoint, or, where nothing is given, from builtin.random_model.

    needs_vocab: False for a run on token ids, which can do without a vocabulary but has no use for that model.
    hub_preprocess: the handle of a module that brings the vocabulary.
    Raises InputError, naming the flag, for a file that is not there.
    """
    for path, flag in ((vocab_file, "vocab_file"), (bert_config_file, "bert_config_file")):
        if path:
            files.check_readable(path, flag)
    if needs_vocab and not (vocab_file or bert_config_file or checkpoint):
        return ModelSources(*builtin.random_model(), None, is_builtin=True)
    preprocessor = find_module(hub_preprocess, "hub_preprocess") if hub_preprocess else None
    if preprocessor:
        vocab_file = vocab_file or preprocessor.companion(VOCABULARY)
    if checkpoint:
        vocab_file = vocab_file or checkpoint.companion(VOCABULARY)
        bert_config_file = bert_config_file or checkpoint.companion(CONFIG, HUGGING_FACE_CONFIG)
    where = f" (none stands in {checkpoint.name})" if checkpoint else ""
    if needs_vocab and not vocab_file:
        raise InputError(f"--vocab_file is needed{where}: give the vocab.txt that belongs to this model")
    if not bert_config_file and not (checkpoint and checkpoint.kind == HUB):
        raise InputError(f"--bert_config_file is needed{where}: give the bert_config.json that belongs to this model")
    return ModelSources(vocab_file, bert_config_file, checkpoint, preprocessor=preprocessor)


def find_model_files(model: ModelFiles, checkpoint: CheckpointPath) -> StoredModel:
    """The files of a model that is to be converted or exported; a vocabulary may be missing.

    Of a Hugging Face folder its own config.json counts.
    """
    config_file = model.bert_config_file
    if checkpoint.kind == HUGGING_FACE:
        config_file = config_file or os.path.join(checkpoint.location, HUGGING_FACE_CONFIG)
    found = find_sources(model.vocab_file, config_file, checkpoint, needs_vocab=False)
    check_vocabulary(found.vocab_file, checkpoint)
    return StoredModel(found.vocab_file, found.config_file, checkpoint)


Config = TypeVar("Config", bound=BertConfig | ModuleConfig)


class OpenedModel(NamedTuple, Generic[Config]):
    """What is known of a model before TensorFlow is there; whether it lower-cases, its tokenizer tells."""

    sources: ModelSources
    config: Config
    vocabulary: Vocabulary
    tokenizer: FullTokenizer


AnyModel = OpenedModel[BertConfig | ModuleConfig]


@overload
def open_model(
    model: ModelFiles, checkpoint: CheckpointPath | None, max_seq_length: int, *, needs_bert: Literal[True]
) -> OpenedModel[BertConfig]: ...


@overload
def open_model(
    model: ModelFiles, checkpoint: CheckpointPath | None, max_seq_length: int, hub: Hub = ...
) -> AnyModel: ...


def open_model(
    model: ModelFiles,
    checkpoint: CheckpointPath | None,
    max_seq_length: int,
    hub: Hub = Hub(),  # noqa: B008 (frozen)
    needs_bert: bool = False,
) -> AnyModel | OpenedModel[BertConfig]:
    """Read vocabulary and config and check them against each other.

    hub: its hub_module is the only handle from outside of the model's folder that is followed. needs_bert: InputError for a
    module that is no BERT.
    """
    found = find_sources(model.vocab_file, model.bert_config_file, checkpoint, hub_preprocess=hub.hub_preprocess)
    vocabulary = read_vocabulary(found.required_vocab_file)
    config: BertConfig | ModuleConfig
    if needs_bert:
        config = read_bert_config(found, model.gelu, vocabulary.size)
    else:
        config = read_any_config(found, model.gelu, vocabulary.size, hub.hub_module)
    check_sizes(config, vocabulary, max_seq_length, found, model.strict)
    do_lower_case = checked_casing(model, found, vocabulary)
    return OpenedModel(found, config, vocabulary, FullTokenizer(vocabulary, do_lower_case))


def read_any_config(
    found: ModelSources, gelu: str, vocab_size: int, hub_module: str | None = None
) -> BertConfig | ModuleConfig:
    """The model's config, for commands that also run modules that are no BERT; of those vocab_size is taken over.

    hub_module: the handle that the user gave, which a config may need. Imports TensorFlow where a module has no config
    beside it.
    """
    if found.config_file:
        module = read_module_config(found.config_file)
        if module is None:
            return read_bert_config(found, gelu, vocab_size)
        check_config(module, found.config_file, found.checkpoint, left_out=("hub_module",))  # which may have been moved
        return dataclasses.replace(module, hub_module=trusted_module(found.config_file, module, hub_module))
    config = module_bert(found.required_checkpoint, gelu)
    if config is not None:
        return config
    from bert_cli.weights.hub_encoder import module_config

    return module_config(found.required_checkpoint, vocab_size)


def read_bert_config(found: ModelSources, gelu: str, vocab_size: int | None = None) -> BertConfig:
    """The model's config; InputError where it is no BERT. Imports TensorFlow where a module has no config beside it.

    vocab_size: see read_config.
    """
    if found.config_file:
        config = read_config(found.config_file, gelu, vocab_size)
        left_out = () if gelu == "auto" else ("gelu",)
        check_config(config, found.config_file, found.checkpoint, left_out)
        return config
    checkpoint = found.required_checkpoint
    module = module_bert(checkpoint, gelu)
    if module is None:
        raise InputError(f"{checkpoint.name}: the variables of this module make up no BERT; one is needed here")
    return module


def words_of(found: ModelSources) -> int | None:
    """Entries of the model's vocabulary, for read_config; None where it has none."""
    return read_vocabulary(found.vocab_file).size if found.vocab_file else None


def read_labels(checkpoint: CheckpointPath) -> tuple[str, ...] | None:
    """The labels in the order of the outputs: those of labels.txt, else of a Hugging Face config.json; None for neither."""
    path = os.path.join(checkpoint.folder, LABELS)
    if files.exists(path):
        labels = tuple(line for line in split_lines(read_text(path), path) if line)
        check_labels(labels, checkpoint)
        if not labels:
            raise InputError(f"{path}: is empty; it has to list the labels of the model, one a line")
        return labels
    if checkpoint.kind != HUGGING_FACE:
        return None
    # Imports no TensorFlow, but safetensors, which only this case needs.
    from bert_cli.weights.hugging_face_writing import read_hugging_face_labels

    return read_hugging_face_labels(os.path.join(checkpoint.location, HUGGING_FACE_CONFIG))[0]


def stated_casing(sources: ModelSources) -> tuple[str, bool] | None:
    """(file, do_lower_case) of the model's flags.txt or tokenizer_config.json; None where neither says it."""
    saved = sources.saved_flags.get("do_lower_case")
    if saved is not None:
        return os.path.join(sources.required_checkpoint.folder, FLAGS), saved == "true"
    place = sources.preprocessor or sources.checkpoint
    tokenizer = place.companion(TOKENIZER_CONFIG) if place else None
    if tokenizer:
        values = read_json(tokenizer, "give --do_lower_case")
        if isinstance(values, dict) and isinstance(values.get("do_lower_case"), bool):
            return tokenizer, values["do_lower_case"]
    return None


def checked_casing(model: ModelFiles, sources: ModelSources, vocabulary: Vocabulary) -> bool:
    """find_casing, with what speaks against it told: see model_checks.check_casing."""
    do_lower_case = find_casing(model.do_lower_case, sources)
    stated = stated_casing(sources)
    checks.check_casing(do_lower_case, vocabulary, sources.checkpoint, stated, model.strict)
    return do_lower_case


def find_casing(given: bool | None, sources: ModelSources) -> bool:
    """do_lower_case: what the flag says, else what the model's own files say, else the original's default, True."""
    if given is not None:
        return given
    stated = stated_casing(sources)
    if stated:
        return stated[1]
    place = sources.preprocessor or sources.checkpoint
    if not place or place.kind != HUB:
        return True
    return module_casing(place, sources.required_vocab_file, is_preprocessor=place is sources.preprocessor)


def check_sizes(
    config: BertConfig | ModuleConfig,
    vocabulary: Vocabulary | None,
    max_seq_length: int,
    sources: ModelSources,
    strict: bool = False,
) -> None:
    """InputError where vocabulary (if there is one), config and max_seq_length do not fit together, or the vocabulary is
    not any more what the model was trained with. strict: see model_checks.doubt.
    """
    check_vocabulary(sources.vocab_file, sources.checkpoint)
    if vocabulary and vocabulary.size > config.vocab_size:
        raise InputError(
            f"{sources.vocab_file} has {vocabulary.size} entries, but {sources.config_name} says vocab_size "
            f"{config.vocab_size}: they belong to different models; check --vocab_file and --bert_config_file"
        )
    if vocabulary and vocabulary.size < config.vocab_size:
        checks.doubt(
            f"{sources.vocab_file} has {vocabulary.size} entries, fewer than vocab_size {config.vocab_size}; is it the "
            "model's own? --vocab_file gives another",
            strict,
        )
    if max_seq_length > config.max_position_embeddings:
        raise InputError(
            f"--max_seq_length={max_seq_length} is above the model's {config.max_position_embeddings} positions "
            f"({sources.config_name}); give at most {config.max_position_embeddings}"
        )


def facts_of_model(checkpoint: CheckpointPath, model: AnyModel) -> dict[str, Any]:
    """By flag, what a model brings that decides its numbers; of vocabulary and config what they say, wherever they stand."""
    return {
        "do_lower_case": model.tokenizer.do_lower_case,
        # A module for tensorflow-hub is a checkpoint, too.
        "init_checkpoint": checkpoint.identity,
        "vocab_file": _digest("\n".join(model.vocabulary.tokens)),
        "bert_config_file": _digest(json.dumps(dataclasses.asdict(model.config), sort_keys=True)),
    }


def _digest(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
