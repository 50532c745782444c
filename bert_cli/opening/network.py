"""A BERT's config from its files or its variables, checked against the checkpoint and its run.

TensorFlow is imported only for a module without a config file.
"""

import dataclasses
import math

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.names import CONFIG, HUGGING_FACE_CONFIG
from bert_cli.model.config import WORD_EMBEDDINGS, BertConfig, encoder_shapes
from bert_cli.model.config_files import has_vocab_size, read_config, report_unknown_keys
from bert_cli.model.networks import BERT
from bert_cli.opening.paths import missing_file_error
from bert_cli.run_directory.manifest import check_config
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.weights.electra import ElectraReader
from bert_cli.weights.model_garden import ModelGardenReader
from bert_cli.weights.path import HUB, TF1, CheckpointPath
from bert_cli.weights.variables import Reader

_LARGE = 10**9  # bytes of weights; shapes of larger models are compared before building the model


def load_bert(path: CheckpointPath, vocab_size: int | None = None, gelu: str = "auto") -> BertConfig:
    """Return the config of a checkpoint's BERT, from the file next to it or from its variables.

    Args:
        vocab_size: used if neither the file nor the checkpoint has one.
        gelu: see read_config.

    Raises:
        InputError: if the config is missing or damaged, or does not fit the checkpoint.
    """
    checkpoint = open_tensorflow_checkpoint(path) or path
    config_file = checkpoint.companion(CONFIG, HUGGING_FACE_CONFIG)
    if not config_file:
        check_has_sizes(checkpoint)
    config = find_bert(config_file, checkpoint, gelu, vocab_size)
    if config is None:
        raise not_bert_error(checkpoint)
    if config_file:
        report_unknown_keys(config_file)
    return config


def check_has_sizes(checkpoint: CheckpointPath | None) -> None:
    """Raise InputError unless the variables of a checkpoint without config file give the sizes."""
    if not checkpoint or not (checkpoint.kind == HUB or isinstance(_format_reader(checkpoint), ElectraReader)):
        raise missing_file_error(checkpoint, "bert_config_file", CONFIG, HUGGING_FACE_CONFIG)


def find_bert(
    config_file: str | None, checkpoint: CheckpointPath | None, gelu: str = "auto", vocab_size: int | None = None
) -> BertConfig | None:
    """Return a BERT's config, from its file or from the checkpoint's variables.

    Args:
        config_file: the file; None if the variables give the sizes.
        checkpoint: the checkpoint; None is only possible together with a file.
        gelu: see read_config.
        vocab_size: used if neither the file nor the checkpoint has one.

    Returns:
        The config; None for a module that is not a BERT.

    Raises:
        InputError: if the config is damaged or does not fit the checkpoint.
    """
    if config_file:
        # The weights decide, not the vocabulary: it may
        # belong to another model, or extend this one's.
        if checkpoint and checkpoint.kind != HUB and not has_vocab_size(config_file):
            vocab_size = _num_words(checkpoint) or vocab_size
        config = read_config(config_file, gelu, vocab_size)
        check_config(config, config_file, checkpoint, () if gelu == "auto" else ("gelu",))
        if checkpoint and config.model_type == BERT:
            _check_network(config, config_file, checkpoint)
    else:
        assert checkpoint is not None, "InputError is raised before, where both are missing"
        sizes = _sizes_of_variables(checkpoint)
        if sizes is None:
            return None
        config = sizes if gelu == "auto" else dataclasses.replace(sizes, gelu=gelu)
    if checkpoint:
        check_large_model(config, checkpoint)
    return config


def _num_words(checkpoint: CheckpointPath) -> int | None:
    """Return the number of word embeddings in a checkpoint; None without word embeddings."""
    # Import late: it imports safetensors.
    from bert_cli.weights.checkpoint import open_checkpoint

    shape = open_checkpoint(checkpoint).shapes.get(WORD_EMBEDDINGS)
    return shape[0] if shape else None


def not_bert_error(checkpoint: CheckpointPath) -> InputError:
    """Return the error for a module that is not a BERT."""
    return InputError(f"{checkpoint.name}: the variables of this module make up no BERT; one is needed here")


def _sizes_of_variables(checkpoint: CheckpointPath) -> BertConfig | None:
    electra = _format_reader(checkpoint)
    if isinstance(electra, ElectraReader):
        LOG.info("%s: no %s there: its variables say the sizes, with 64 numbers a head", checkpoint.name, CONFIG)
        return electra.config()
    setup_tensorflow()
    # Import late: it imports TensorFlow.
    from bert_cli.weights.hub import HubReader

    return HubReader(checkpoint.location, checkpoint.name).config()


def check_large_model(config: BertConfig, checkpoint: CheckpointPath) -> None:
    """Raise InputError if a large model's config does not fit its checkpoint.

    Loading compares them too, but only after building the model. A damaged config may need more
    memory than the machine has.
    """
    shapes = encoder_shapes(config)
    if checkpoint.kind == HUB or 4 * sum(map(math.prod, shapes.values())) < _LARGE:
        return
    # Import late: it imports safetensors.
    from bert_cli.weights.checkpoint import check_shapes, open_checkpoint

    check_shapes(shapes, open_checkpoint(checkpoint))


def _check_network(config: BertConfig, config_file: str, checkpoint: CheckpointPath) -> None:
    """Raise InputError if a BERT config belongs to a checkpoint with another network."""
    # ELECTRA-Base has the same sizes as BERT-Base, so everything else would fit.
    reader = _format_reader(checkpoint)
    if isinstance(reader, ElectraReader):
        raise InputError(
            f"{config_file}: describes a BERT, and {checkpoint.name} holds an ELECTRA: add "
            '"model_type": "electra" and its "embedding_size", or remove this file, as its variables say the sizes'
        )
    if isinstance(reader, ModelGardenReader):
        reader.check_heads(config.num_attention_heads, config_file)


def _format_reader(checkpoint: CheckpointPath) -> Reader | None:
    return checkpoint.opened.format_reader if checkpoint.opened else None


def open_tensorflow_checkpoint(checkpoint: CheckpointPath | None) -> CheckpointPath | None:
    """Return a TensorFlow checkpoint with its reader, which has only the index in memory.

    A checkpoint with a reader is unchanged, and so are other formats, because their readers keep
    files open.
    """
    # If the checkpoint has just been removed, reading it will report that later.
    if checkpoint is None or checkpoint.opened or checkpoint.kind != TF1 or not files.exists(checkpoint.file):
        return checkpoint
    # Import late: it imports safetensors.
    from bert_cli.weights.checkpoint import open_checkpoint

    return dataclasses.replace(checkpoint, opened=open_checkpoint(checkpoint))
