"""The one loader: anything that names a model becomes a ModelBundle, before TensorFlow is imported."""

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
from bert_cli.runs.output_dir.manifest import check_config, check_vocabulary
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
from bert_cli.weights.module_path import find_module, own_module
from bert_cli.weights.path import HUB, TF1, CheckpointPath
from bert_cli.weights.reader import Reader


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
    """Find, read and check vocabulary and config of a checkpoint; without one, of the built-in
    network.

    max_seq_length: in tokens, which the model has to have positions for; None leaves this and the
    size of the vocabulary to the caller. hub: its hub_module is the only handle from outside of the
    model's folder that is followed. needs_bert: InputError for a module that is not a BERT.
    needs_vocab: False for a run on token ids, and for a model that is converted. to_convert: a
    Hugging Face folder is read by its own config.json and tokenizer.json. InputError, naming the
    flag or file, where something is missing, damaged, or does not fit together.
    """
    config_file = flags.bert_config_file
    # Hugging Face's class reads config.json alone, so that is what a converted folder has to agree
    # with; a bert_config.json next to it may be of an earlier conversion.
    if to_convert and checkpoint:
        config_file = config_file or checkpoint.hugging_face_config
    paths = _find_paths(flags, config_file, checkpoint, needs_vocab, hub)
    # With a length it is checked below, after the config, in the order of messages of a run.
    if to_convert:
        check_vocabulary(paths.vocab_file, checkpoint)
    # Before the config: where that leaves vocab_size out, the size of the vocabulary is used
    # instead.
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
    stated = _stated_casing(paths) or stored.casing
    do_lower_case = _find_casing(flags.do_lower_case, paths, vocabulary, stated)
    if vocabulary:
        report_tokenizer(stored, flags.do_lower_case, flags.strict)
        check_casing(do_lower_case, vocabulary, checkpoint, stated, flags.strict)
    # vars also has what paths caches, so it is taken of a copy.
    known = vars(dataclasses.replace(paths))
    model = ModelBundle(
        **known,
        config=config,
        optional_vocabulary=vocabulary,
        do_lower_case=do_lower_case,
        tokenizer_settings=stored.settings,
    )
    # Before TensorFlow takes its seconds.
    if to_convert:
        model.check_files()
    return model


def _cut_blank_end(vocabulary: Vocabulary, size: int) -> Vocabulary:
    """Return the vocabulary without blank lines that the model has no rows for, and log them."""
    shortened = without_blank_end(vocabulary, size)
    if blank := vocabulary.size - shortened.size:
        lines = "line is" if blank == 1 else f"{blank} lines are"
        LOG.info("%s: the last %s blank and no token", vocabulary.path, lines)
    return shortened


def _find_paths(
    flags: ModelFiles, config_file: str | None, checkpoint: CheckpointPath | None, needs_vocab: bool, hub: Hub
) -> ModelPaths:
    """Complete what the flags give from the folder of the checkpoint, or, where nothing is given,
    from random_model.

    needs_vocab: False for a run on token ids, which can do without a vocabulary but has no use for
    that model. hub.hub_preprocess: the handle of a module that brings the vocabulary. Raises
    InputError, naming the flag, for a file that is not there.
    """
    vocab_file = flags.vocab_file
    for path, flag in ((vocab_file, "vocab_file"), (config_file, "bert_config_file")):
        if path:
            files.check_readable(path, flag)
    if needs_vocab and not (vocab_file or config_file or checkpoint):
        return ModelPaths(*random_model(), None, is_builtin=True)
    preprocessor = find_module(hub.hub_preprocess, "hub_preprocess") if hub.hub_preprocess else None
    # The preprocessor's words come first: of a module, they are those that its encoder was trained
    # with.
    if preprocessor:
        vocab_file = vocab_file or preprocessor.companion(VOCABULARY, TOKENIZER)
    if checkpoint:
        vocab_file = vocab_file or checkpoint.companion(VOCABULARY, TOKENIZER)
        config_file = config_file or checkpoint.companion(CONFIG, HUGGING_FACE_CONFIG)
    where = f" ({checkpoint.name} has none)" if checkpoint else ""
    if needs_vocab and not vocab_file:
        # Another network has another kind of vocabulary, so its vocab.txt would be looked for in vain.
        if config_file:
            refuse_other_network(config_file)
        raise InputError(
            f"--vocab_file is needed{where}: give the vocab.txt or tokenizer.json that belongs to this model"
        )
    if not config_file and not (checkpoint and (checkpoint.kind == HUB or _electra(checkpoint))):
        raise InputError(f"--bert_config_file is needed{where}: give the bert_config.json that belongs to this model")
    return ModelPaths(vocab_file, config_file, checkpoint, preprocessor=preprocessor)


def _read_config(
    paths: ModelPaths, gelu: str, vocab_size: int | None, hub_module: str | None, needs_bert: bool
) -> BertConfig | ModuleConfig:
    """The model's config; InputError where it is not a BERT and `needs_bert`. A module that is not
    a BERT takes vocab_size over.

    vocab_size: see read_config. hub_module: the handle that the user gave, which a config may need.
    Imports TensorFlow where a module has no config next to it.
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
        # A module is code that is run: only one that the user names, or that lies in the config's
        # own folder, is followed.
        handle = files.make_absolute(hub_module) if hub_module else own_module(paths.config_file, module.hub_module)
        if handle is None:
            raise InputError(
                f"{paths.config_file}: this model was trained on the module {module.hub_module}, "
                "which is not in its folder; a module is run, so it must be named by you: if you "
                f"trust it, give --hub_module={module.hub_module} (in Python hub_module=…)"
            )
        return dataclasses.replace(module, hub_module=handle)
    checkpoint = paths.required_checkpoint
    electra = _electra(checkpoint)
    if electra:
        LOG.info("%s: no %s there: its variables say the sizes, with 64 numbers a head", checkpoint.name, CONFIG)
        config = electra.config()
        return config if gelu == "auto" else dataclasses.replace(config, gelu=gelu)
    setup_tensorflow()
    # Not at the top: they import TensorFlow.
    from bert_cli.weights.hub import HubReader
    from bert_cli.weights.hub_encoder import module_config

    bert = HubReader(checkpoint.location, checkpoint.name).config()
    if bert is not None:
        return bert if gelu == "auto" else dataclasses.replace(bert, gelu=gelu)
    if needs_bert or vocab_size is None:
        raise InputError(f"{checkpoint.name}: the variables of this module make up no BERT; one is needed here")
    return module_config(checkpoint, vocab_size)


def _check_network(config: BertConfig, config_file: str, checkpoint: CheckpointPath) -> None:
    """Raise InputError if a BERT's config has equal shapes, but is another network than its checkpoint."""
    reader = _tensorflow_reader(checkpoint)
    # The sizes of ELECTRA-Base are BERT-Base's, so everything else would fit.
    if isinstance(reader, ElectraReader):
        raise InputError(
            f"{config_file}: describes a BERT, and {checkpoint.name} holds an ELECTRA: add "
            '"model_type": "electra" and its "embedding_size", or remove this file, as its variables say the sizes'
        )
    if isinstance(reader, ModelGardenReader):
        reader.check_heads(config.num_attention_heads, config_file)


def _electra(checkpoint: CheckpointPath) -> ElectraReader | None:
    """Return the reader of a TF1 checkpoint of ELECTRA, None for other checkpoints."""
    reader = _tensorflow_reader(checkpoint)
    return reader if isinstance(reader, ElectraReader) else None


def _tensorflow_reader(checkpoint: CheckpointPath) -> Reader | None:
    """Return the reader of a checkpoint of TensorFlow, None for other formats."""
    # A checkpoint that was removed after it was found is reported later, when it is read.
    if checkpoint.kind != TF1 or not files.exists(checkpoint.file):
        return None
    # Import late: it imports safetensors, which only a Hugging Face folder needs.
    from bert_cli.weights.checkpoint import open_checkpoint

    return open_checkpoint(checkpoint)


def _stated_casing(paths: ModelPaths) -> tuple[str, bool] | None:
    """Return (flags.txt, do_lower_case) of the run that made the checkpoint, or None."""
    saved = paths.saved_flags.get("do_lower_case")
    # flags.txt comes first: it says what the run computed with, also against the files that it
    # started from.
    return None if saved is None else (os.path.join(paths.required_checkpoint.folder, FLAGS), saved == "true")


def _read_tokenizer(paths: ModelPaths, flags: ModelFiles) -> StoredTokenizer:
    """Read the vocabulary, and what the tokenizer files next to it say.

    A --vocab_file from elsewhere is used without the tokenizer files of the checkpoint's directory,
    but for the casing: added tokens belong to a vocabulary.
    """
    source = paths.preprocessor or paths.checkpoint
    vocab_file = paths.vocab_file
    config = source.companion(TOKENIZER_CONFIG) if source else None
    if not vocab_file:
        return StoredTokenizer(None, read_casing(config))
    if is_tokenizer_json(vocab_file) and paths.config_file:
        # Another network has another kind of tokenizer, which is no fault of its tokenizer.json.
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
    given: bool | None, paths: ModelPaths, vocabulary: Vocabulary | None, stated: tuple[str, bool] | None
) -> bool:
    """do_lower_case: what the flag says, else what the model's own files say, else the original's
    default, True.

    A module says it by its graph (a preprocessor) or its variables; where they say nothing, as in
    TF1's format, its words do.
    """
    if given is not None:
        return given
    if stated:
        return stated[1]
    source = paths.preprocessor or paths.checkpoint
    if not source or source.kind != HUB or not vocabulary:
        return True
    setup_tensorflow()
    if source is paths.preprocessor:
        from bert_cli.weights.hub_encoder import preprocessor_lower_cases

        # Any word that is there in lower case shows whether its capitals lead to it.
        words = (word for word in vocabulary.tokens if word.isascii() and word.isalpha() and word.islower())
        return preprocessor_lower_cases(source.location, source.name, next(words, "a"))
    from bert_cli.weights.hub import HubReader

    said = HubReader(source.location, source.name).do_lower_case()
    return not looks_cased(vocabulary) if said is None else said
