"""Modules for tensorflow-hub as the sources of a model: which handle is followed, and what a module says of itself."""

import dataclasses

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.text.vocabulary import looks_cased, read_vocabulary
from bert_cli.weights.path import CheckpointPath, own_module


def trusted_module(config_file: str, config: ModuleConfig, given: str | None) -> str:
    """The handle of a config's module: the one that the user gave, else a path within the config's own folder."""
    handle = files.absolute(given) if given else own_module(config_file, config.hub_module)
    if handle is None:
        raise InputError(
            f"{config_file}: this model was trained on the module {config.hub_module}, which is not in its folder; a module is "
            f"run, so it must be named by you: if you trust it, give --hub_module={config.hub_module} (in Python hub_module=…)"
        )
    return handle


def module_bert(checkpoint: CheckpointPath, gelu: str) -> BertConfig | None:
    """The config of the BERT that a module's variables make up; None for another module. Imports TensorFlow."""
    setup_tensorflow()
    from bert_cli.weights.hub import HubReader

    config = HubReader(checkpoint.location, checkpoint.name).config()
    return dataclasses.replace(config, gelu=gelu) if config and gelu != "auto" else config


def module_casing(module: CheckpointPath, vocab_file: str, is_preprocessor: bool) -> bool:
    """Whether a module lower-cases, as its graph (of a preprocessor) or its variables say.

    Where they say nothing, as in TF1's format, its words do.
    """
    setup_tensorflow()
    vocabulary = read_vocabulary(vocab_file)
    if is_preprocessor:
        from bert_cli.weights.hub_encoder import preprocessor_lower_cases

        words = (word for word in vocabulary.tokens if word.isascii() and word.isalpha() and word.islower())
        return preprocessor_lower_cases(module.location, module.name, next(words, "a"))
    from bert_cli.weights.hub import HubReader

    said = HubReader(module.location, module.name).do_lower_case()
    return not looks_cased(vocabulary) if said is None else said
