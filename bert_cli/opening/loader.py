"""Loader that reads a model's files, except for the weights, into a ModelBundle."""

import dataclasses
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.model.config_files import read_module_config, report_unknown_keys
from bert_cli.opening.bundle import ModelBundle
from bert_cli.opening.checks import check_sizes
from bert_cli.opening.network import check_has_sizes, find_bert, not_bert_error, open_tensorflow_checkpoint
from bert_cli.opening.paths import ModelPaths, find_paths
from bert_cli.opening.tokenizer import cut_blank_end, find_casing, read_stored, run_casing
from bert_cli.opening.vocab_file import check_casing, report_tokenizer
from bert_cli.run_directory.manifest import check_config, check_vocabulary
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.settings.groups import HubEncoder, ModelFiles
from bert_cli.text.vocabulary import Vocabulary
from bert_cli.weights.module_path import bundled_module, find_module
from bert_cli.weights.path import CheckpointPath


def load_model(
    flags: ModelFiles,
    checkpoint: CheckpointPath | None,
    max_seq_length: int | None,
    hub: HubEncoder = HubEncoder(),  # noqa: B008 (frozen)
    *,
    needs_bert: bool = False,
    needs_vocab: bool = True,
    to_convert: bool = False,
) -> ModelBundle[Any]:
    """Find, read and check a model's vocabulary and config, usually without TensorFlow.

    Args:
        checkpoint: the checkpoint; None for the small built-in network.
        max_seq_length: maximum number of tokens in a sequence, compared with the model's positions.
            If None, the caller checks this and the vocabulary size.
        hub: flag values. A module is only loaded if `hub_module` names it, or if it is in the
            model's directory.
        needs_bert: refuse modules that are not a BERT.
        needs_vocab: False for a run on token ids, and for a model that is converted.
        to_convert: read a Hugging Face directory by its config.json and tokenizer.json.

    Raises:
        InputError: if files are missing or damaged, or do not fit together.
    """
    checkpoint = open_tensorflow_checkpoint(checkpoint)
    if checkpoint and flags.strict:
        checkpoint = dataclasses.replace(checkpoint, is_strict=True)
    config_file = flags.bert_config_file
    # Hugging Face's class reads only config.json, so a converted directory must agree with it. A
    # bert_config.json next to it may come from an earlier conversion.
    if to_convert and checkpoint:
        config_file = config_file or checkpoint.hugging_face_config
    preprocessor = find_module(hub.hub_preprocess, "hub_preprocess") if hub.hub_preprocess else None
    paths = find_paths(flags.vocab_file, config_file, checkpoint, needs_vocab, preprocessor)
    if not paths.config_file:
        check_has_sizes(checkpoint)
    # With a length, it is checked below, after the config, in a run's order of messages.
    if to_convert:
        check_vocabulary(paths.vocab_file, checkpoint)
    # Read the tokenizer before the config: if the config has no vocab_size, the vocabulary's size
    # is used.
    stored = read_stored(paths, flags.vocab_file)
    vocabulary = stored.vocabulary
    vocab_size = vocabulary.size if vocabulary else None
    config = _read_config(paths, flags.gelu, vocab_size, hub.hub_module, needs_bert)
    if paths.config_file:
        report_unknown_keys(paths.config_file, flags.strict)
    if vocabulary and vocabulary.size > config.vocab_size:
        vocabulary = cut_blank_end(vocabulary, config.vocab_size)
    if max_seq_length is not None:
        check_vocabulary(paths.vocab_file, checkpoint)
        check_sizes(config, vocabulary, max_seq_length, paths.config_name, flags.strict, checkpoint is not None)
    stored_casing = run_casing(paths) or stored.casing
    do_lower_case = _find_casing(flags.do_lower_case, paths, vocabulary, stored_casing)
    if vocabulary:
        report_tokenizer(stored, flags.do_lower_case, flags.strict)
        model_folder = checkpoint.folder if checkpoint else None
        check_casing(do_lower_case, vocabulary, model_folder, stored_casing, flags.strict, stored.settings)
    # Copy the paths: vars(paths) would also contain cached properties.
    path_values = vars(dataclasses.replace(paths))
    model = ModelBundle(
        **path_values,
        config=config,
        optional_vocabulary=vocabulary,
        do_lower_case=do_lower_case,
        tokenizer_settings=stored.settings,
    )
    # Check before TensorFlow is imported, which takes seconds.
    if to_convert:
        model.head.check_files()
    return model


def _read_config(
    paths: ModelPaths, gelu: str, vocab_size: int | None, hub_module: str | None, needs_bert: bool
) -> BertConfig | ModuleConfig:
    """Read the model's config; import TensorFlow only for a module without config file.

    Args:
        vocab_size: see read_config. A module that is not a BERT uses it as well.
        needs_bert: refuse modules that are not a BERT.

    Raises:
        InputError: if the config is damaged or does not fit, or if a module is missing or refused.
    """
    module = read_module_config(paths.config_file) if paths.config_file and not needs_bert else None
    if paths.config_file is None or module is None:
        bert = find_bert(paths.config_file, paths.checkpoint, gelu, vocab_size)
        if bert is not None:
            return bert
        checkpoint = paths.required_checkpoint
        if needs_bert or vocab_size is None:
            raise not_bert_error(checkpoint)
        # Import late: it imports TensorFlow.
        from bert_cli.weights.hub_encoder import module_config

        return module_config(checkpoint, vocab_size)
    # The module may have been moved since the run.
    check_config(module, paths.config_file, paths.checkpoint, ignored_keys=("hub_module",))
    # A module is code that will be run. So load it only if the user names it, or if it is in
    # the config's directory.
    handle = files.make_absolute(hub_module) if hub_module else bundled_module(paths.config_file, module.hub_module)
    if handle is None:
        raise InputError(
            f"{paths.config_file}: this model was trained on the module {module.hub_module}, "
            "which is not in its folder; a module is run, so it must be named by you: if you "
            f"trust it, give --hub_module={module.hub_module} (in Python hub_module=…)"
        )
    return dataclasses.replace(module, hub_module=handle)


def _find_casing(
    flag_value: bool | None, paths: ModelPaths, vocabulary: Vocabulary | None, stored_casing: tuple[str, bool] | None
) -> bool:
    """Return do_lower_case, which a preprocessor module has in its graph.

    Args:
        flag_value, vocabulary, stored_casing: see find_casing.
        paths: the model's files.
    """
    if flag_value is not None or stored_casing or not paths.preprocessor or not vocabulary:
        return find_casing(flag_value, paths.checkpoint, vocabulary, stored_casing)
    setup_tensorflow()
    from bert_cli.weights.hub_encoder import preprocessor_lower_cases

    # Test with a word that is in the vocabulary in lower case.
    words = (word for word in vocabulary.tokens if word.isascii() and word.isalpha() and word.islower())
    return preprocessor_lower_cases(paths.preprocessor.location, paths.preprocessor.name, next(words, "a"))
