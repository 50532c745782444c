"""Loader that reads a model's files, except for the weights, into a ModelBundle."""

import dataclasses
import os
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.base.names import (
    CONFIG,
    FLAGS,
    HUGGING_FACE_CONFIG,
    TOKENIZER,
    TOKENIZER_CONFIG,
    TOKENIZER_FILES,
    VOCABULARY,
)
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.model.config_files import read_config, read_module_config, refuse_other_network
from bert_cli.model.networks import BERT
from bert_cli.runs.loading.bundle import ModelBundle, ModelPaths
from bert_cli.runs.loading.checkpoints import random_model
from bert_cli.runs.loading.checks import check_casing, check_large_model, check_sizes, report_tokenizer
from bert_cli.runs.run_directory.manifest import check_config, check_vocabulary
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.settings.groups import Hub, ModelFiles
from bert_cli.text.added_token_files import TokenizerPaths
from bert_cli.text.tokenizer_files import (
    StoredTokenizer,
    find_tokenizer_files,
    is_tokenizer_json,
    read_casing,
    read_tokenizer,
)
from bert_cli.text.vocabulary import Vocabulary, looks_cased, read_vocabulary, without_blank_end
from bert_cli.weights.electra import ElectraReader
from bert_cli.weights.model_garden import ModelGardenReader
from bert_cli.weights.module_path import bundled_module, find_module
from bert_cli.weights.path import HUB, TF1, CheckpointPath


def load_model(
    flags: ModelFiles,
    checkpoint: CheckpointPath | None,
    max_seq_length: int | None,
    hub: Hub = Hub(),  # noqa: B008 (frozen)
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
    checkpoint = _open_tensorflow(checkpoint)
    config_file = flags.bert_config_file
    # Hugging Face's class reads only config.json, so a converted directory must agree with it. A
    # bert_config.json next to it may come from an earlier conversion.
    if to_convert and checkpoint:
        config_file = config_file or checkpoint.hugging_face_config
    paths = _find_paths(flags, config_file, checkpoint, needs_vocab, hub)
    # With a length, it is checked below, after the config, in a run's order of messages.
    if to_convert:
        check_vocabulary(paths.vocab_file, checkpoint)
    # Read the tokenizer before the config: if the config has no vocab_size, the vocabulary's size
    # is used.
    stored = _read_tokenizer(paths, flags)
    vocabulary = stored.vocabulary
    vocab_size = vocabulary.size if vocabulary else None
    config = _read_config(paths, flags.gelu, vocab_size, hub.hub_module, needs_bert)
    if checkpoint and isinstance(config, BertConfig):
        check_large_model(config, checkpoint)
    if vocabulary and vocabulary.size > config.vocab_size:
        vocabulary = _cut_blank_end(vocabulary, config.vocab_size)
    if max_seq_length is not None:
        check_vocabulary(paths.vocab_file, checkpoint)
        check_sizes(config, vocabulary, max_seq_length, paths.config_name, flags.strict)
    stored_casing = _run_casing(paths) or stored.casing
    do_lower_case = _find_casing(flags.do_lower_case, paths, vocabulary, stored_casing)
    if vocabulary:
        report_tokenizer(stored, flags.do_lower_case, flags.strict)
        check_casing(do_lower_case, vocabulary, checkpoint, stored_casing, flags.strict)
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


def _cut_blank_end(vocabulary: Vocabulary, size: int) -> Vocabulary:
    """Return the vocabulary without trailing blank lines beyond the model's rows, and log them."""
    shortened = without_blank_end(vocabulary, size)
    if blank := vocabulary.size - shortened.size:
        lines = "line is" if blank == 1 else f"{blank} lines are"
        LOG.info("%s: the last %s blank and no token", vocabulary.path, lines)
    return shortened


def _find_paths(
    flags: ModelFiles, config_file: str | None, checkpoint: CheckpointPath | None, needs_vocab: bool, hub: Hub
) -> ModelPaths:
    """Find the model's files in the flags, in the checkpoint's directory, or built in.

    Args:
        config_file: config to use; None for the one next to the checkpoint.
        needs_vocab: see load_model. If False, the small built-in network is not used.
        hub: flag values; `hub_preprocess` names a module that has a vocabulary.
    """
    vocab_file = flags.vocab_file
    for path, flag in ((vocab_file, "vocab_file"), (config_file, "bert_config_file")):
        if path:
            files.check_readable(path, flag)
    if needs_vocab and not (vocab_file or config_file or checkpoint):
        return ModelPaths(*random_model(), None, is_builtin=True)
    preprocessor = find_module(hub.hub_preprocess, "hub_preprocess") if hub.hub_preprocess else None
    # The preprocessor's vocabulary has priority, because the module's encoder was trained with it.
    if preprocessor:
        vocab_file = vocab_file or preprocessor.companion(VOCABULARY, TOKENIZER)
    if checkpoint:
        vocab_file = vocab_file or checkpoint.companion(VOCABULARY, TOKENIZER)
        config_file = config_file or checkpoint.companion(CONFIG, HUGGING_FACE_CONFIG)
    checkpoint_note = f" ({checkpoint.name} has none)" if checkpoint else ""
    if needs_vocab and not vocab_file:
        # Another network has another type of vocabulary, so asking for vocab.txt would be wrong.
        if config_file:
            refuse_other_network(config_file)
        raise InputError(
            f"--vocab_file is needed{checkpoint_note}: give the vocab.txt or tokenizer.json that belongs to this model"
        )
    if not config_file and not (
        checkpoint and (checkpoint.kind == HUB or isinstance(checkpoint.opened, ElectraReader))
    ):
        raise InputError(
            f"--bert_config_file is needed{checkpoint_note}: give the bert_config.json that belongs to this model"
        )
    return ModelPaths(vocab_file, config_file, checkpoint, preprocessor=preprocessor)


def _read_config(
    paths: ModelPaths, gelu: str, vocab_size: int | None, hub_module: str | None, needs_bert: bool
) -> BertConfig | ModuleConfig:
    """Read the model's config; import TensorFlow only for a module without config file.

    Args:
        gelu, hub_module: flag values.
        vocab_size: see read_config. A module that is not a BERT uses it as well.
        needs_bert: refuse modules that are not a BERT.

    Raises:
        InputError: if the config is damaged or does not fit, or if a module is missing or refused.
    """
    if paths.config_file:
        module = None if needs_bert else read_module_config(paths.config_file)
        if module is None:
            config = read_config(paths.config_file, gelu, vocab_size)
            check_config(config, paths.config_file, paths.checkpoint, () if gelu == "auto" else ("gelu",))
            if paths.checkpoint and config.model_type == BERT:
                _check_network(config, paths.config_file, paths.checkpoint)
            return config
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
    checkpoint = paths.required_checkpoint
    electra = checkpoint.opened
    if isinstance(electra, ElectraReader):
        LOG.info("%s: no %s there: its variables say the sizes, with 64 numbers a head", checkpoint.name, CONFIG)
        config = electra.config()
        return config if gelu == "auto" else dataclasses.replace(config, gelu=gelu)
    setup_tensorflow()
    # Import late: these modules import TensorFlow.
    from bert_cli.weights.hub import HubReader
    from bert_cli.weights.hub_encoder import module_config

    bert = HubReader(checkpoint.location, checkpoint.name).config()
    if bert is not None:
        return bert if gelu == "auto" else dataclasses.replace(bert, gelu=gelu)
    if needs_bert or vocab_size is None:
        raise InputError(f"{checkpoint.name}: the variables of this module make up no BERT; one is needed here")
    return module_config(checkpoint, vocab_size)


def _check_network(config: BertConfig, config_file: str, checkpoint: CheckpointPath) -> None:
    """Raise InputError if a BERT config belongs to a checkpoint with another network."""
    # ELECTRA-Base has the same sizes as BERT-Base, so everything else would fit.
    if isinstance(checkpoint.opened, ElectraReader):
        raise InputError(
            f"{config_file}: describes a BERT, and {checkpoint.name} holds an ELECTRA: add "
            '"model_type": "electra" and its "embedding_size", or remove this file, as its variables say the sizes'
        )
    if isinstance(checkpoint.opened, ModelGardenReader):
        checkpoint.opened.check_heads(config.num_attention_heads, config_file)


def _open_tensorflow(checkpoint: CheckpointPath | None) -> CheckpointPath | None:
    """Return a TensorFlow checkpoint with its reader, which has only the index in memory.

    Checkpoints in other formats are unchanged, because their readers keep files open.
    """
    # If the checkpoint has just been removed, reading it will report that later.
    if checkpoint is None or checkpoint.kind != TF1 or not files.exists(checkpoint.file):
        return checkpoint
    # Import late: it imports safetensors.
    from bert_cli.weights.checkpoint import open_files

    # Not open_checkpoint: a shared reader hides the format.
    return dataclasses.replace(checkpoint, opened=open_files(checkpoint))


def _run_casing(paths: ModelPaths) -> tuple[str, bool] | None:
    """Return (path of flags.txt, do_lower_case) from the run that made the checkpoint, or None."""
    saved = paths.saved_flags.get("do_lower_case")
    # flags.txt has priority: the run may have used another casing than the model it started from.
    return None if saved is None else (os.path.join(paths.required_checkpoint.folder, FLAGS), saved == "true")


def _read_tokenizer(paths: ModelPaths, flags: ModelFiles) -> StoredTokenizer:
    """Read the vocabulary and the tokenizer files next to it.

    If --vocab_file is in another directory than the checkpoint, only the casing is read from the
    checkpoint's tokenizer files. Their added tokens belong to their vocabulary.
    """
    source = paths.preprocessor or paths.checkpoint
    vocab_file = paths.vocab_file
    config = source.companion(TOKENIZER_CONFIG) if source else None
    if not vocab_file:
        return StoredTokenizer(None, read_casing(config))
    if is_tokenizer_json(vocab_file) and paths.config_file:
        # Another network has another tokenizer, so do not report its tokenizer.json as wrong.
        refuse_other_network(paths.config_file)
    if flags.vocab_file and is_tokenizer_json(vocab_file):
        return read_tokenizer(vocab_file, find_tokenizer_files(vocab_file))
    is_of_source = source and (
        not flags.vocab_file or files.resolve(os.path.dirname(vocab_file) or ".") == files.resolve(source.folder)
    )
    if source and is_of_source:
        return read_tokenizer(vocab_file, TokenizerPaths(*map(source.companion, TOKENIZER_FILES)))
    return StoredTokenizer(read_vocabulary(vocab_file), read_casing(config))


def _find_casing(
    flag_value: bool | None, paths: ModelPaths, vocabulary: Vocabulary | None, stored_casing: tuple[str, bool] | None
) -> bool:
    """Return do_lower_case from the flag, from the model's files, or True as in the original.

    A preprocessor module has it in its graph, and an encoder module in its variables. If they do
    not have it, as in the TF1 format, the vocabulary decides.

    Args:
        flag_value: flag value, or None.
        stored_casing: (file, do_lower_case) from the model's files, or None.
    """
    if flag_value is not None:
        return flag_value
    if stored_casing:
        return stored_casing[1]
    source = paths.preprocessor or paths.checkpoint
    if not source or source.kind != HUB or not vocabulary:
        return True
    setup_tensorflow()
    if source is paths.preprocessor:
        from bert_cli.weights.hub_encoder import preprocessor_lower_cases

        # Test with a word that is in the vocabulary in lower case.
        words = (word for word in vocabulary.tokens if word.isascii() and word.isalpha() and word.islower())
        return preprocessor_lower_cases(source.location, source.name, next(words, "a"))
    from bert_cli.weights.hub import HubReader

    lower_cases = HubReader(source.location, source.name).do_lower_case()
    return not looks_cased(vocabulary) if lower_cases is None else lower_cases
