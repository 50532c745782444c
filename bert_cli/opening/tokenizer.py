"""Loading of a model's tokenizer."""

import os

from bert_cli.base import files
from bert_cli.base.errors import InputError, first_line
from bert_cli.base.log import LOG
from bert_cli.base.names import FLAGS, TOKENIZER, TOKENIZER_CONFIG, TOKENIZER_FILES
from bert_cli.opening.paths import ModelPaths, find_paths, named_or_builtin, read_vocab_size, refuse_other_network
from bert_cli.opening.vocab_file import check_casing, load_from_vocab_file, report_tokenizer
from bert_cli.text.hugging_face_files import TokenizerPaths
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.tokenizer_files import (
    StoredTokenizer,
    find_tokenizer_files,
    is_tokenizer_json,
    read_casing,
    read_keras_hub_tokenizer,
    read_tokenizer,
)
from bert_cli.text.vocabulary import Vocabulary, looks_cased, read_vocabulary, without_blank_end
from bert_cli.weights.formats.checkpoint_index import read_array, read_index
from bert_cli.weights.path import HUB, KERAS_HUB, CheckpointPath

# Boolean variable in published modules, and in modules from bert-export. Its object is an attribute
# of the module, so this is its key.
_CASING_KEY = "do_lower_case/.ATTRIBUTES/VARIABLE_VALUE"


def load_tokenizer(
    init_checkpoint: str = "", vocab_file: str | None = None, do_lower_case: bool | None = None
) -> FullTokenizer:
    """Return the tokenizer for the model or vocabulary in the flags, or for the built-in model."""
    if vocab_file and not init_checkpoint:
        return load_from_vocab_file(vocab_file, do_lower_case)
    return _load_tokenizer_of(named_or_builtin(init_checkpoint), vocab_file, do_lower_case)


def _load_tokenizer_of(checkpoint: CheckpointPath, vocab_file: str | None, flag_casing: bool | None) -> FullTokenizer:
    """Return a model's tokenizer, without the checks that only the network needs."""
    paths = find_paths(vocab_file, None, checkpoint, True)
    stored = read_stored(paths, vocab_file)
    vocabulary = stored.vocabulary
    assert vocabulary is not None, "find_paths raises InputError if the vocabulary is missing"
    if paths.config_file and (vocab_size := read_vocab_size(paths.config_file)):
        vocabulary = cut_blank_end(vocabulary, vocab_size)
    stored_casing = run_casing(paths) or stored.casing
    do_lower_case = find_casing(flag_casing, checkpoint, vocabulary, stored_casing)
    report_tokenizer(stored, flag_casing)
    check_casing(do_lower_case, vocabulary, checkpoint.folder, stored_casing)
    return FullTokenizer(vocabulary, do_lower_case, settings=stored.settings)


def cut_blank_end(vocabulary: Vocabulary, size: int) -> Vocabulary:
    """Return the vocabulary without trailing blank lines beyond the model's rows, and log them."""
    if vocabulary.size <= size:
        return vocabulary
    shortened = without_blank_end(vocabulary, size)
    if blank := vocabulary.size - shortened.size:
        lines = "line is" if blank == 1 else f"{blank} lines are"
        LOG.info("%s: the last %s blank and no token", vocabulary.path, lines)
    return shortened


def run_casing(paths: ModelPaths) -> tuple[str, bool] | None:
    """Return (path of flags.txt, do_lower_case) from the run that made the checkpoint, or None."""
    saved = paths.saved_flags.get("do_lower_case")
    # flags.txt has priority: the run may have used another casing than the model it started from.
    return None if saved is None else (os.path.join(paths.required_checkpoint.folder, FLAGS), saved == "true")


def read_stored(paths: ModelPaths, flag_value: str | None) -> StoredTokenizer:
    """Read the vocabulary and the tokenizer files next to it.

    If --vocab_file is in another directory than the checkpoint, only the casing is read from the
    checkpoint's tokenizer files. Their added tokens belong to their vocabulary.

    Args:
        paths: the model's files.
        flag_value: value of --vocab_file, or None.
    """
    source = paths.preprocessor or paths.checkpoint
    vocab_file = paths.vocab_file
    config = source.companion(TOKENIZER_CONFIG) if source else None
    if not vocab_file:
        return StoredTokenizer(None, read_casing(config))
    if is_tokenizer_json(vocab_file) and paths.config_file:
        # Another network has another tokenizer, so do not report its tokenizer.json as wrong.
        refuse_other_network(paths.config_file)
    if source and source.kind == KERAS_HUB and not flag_value:
        return read_keras_hub_tokenizer(vocab_file, os.path.join(source.folder, TOKENIZER))
    if flag_value and is_tokenizer_json(vocab_file):
        return read_tokenizer(vocab_file, find_tokenizer_files(vocab_file))
    is_of_source = source and (
        not flag_value or files.resolve(os.path.dirname(vocab_file) or ".") == files.resolve(source.folder)
    )
    if source and is_of_source:
        return read_tokenizer(vocab_file, TokenizerPaths(*map(source.companion, TOKENIZER_FILES)))
    return StoredTokenizer(read_vocabulary(vocab_file), read_casing(config))


def find_casing(
    flag_value: bool | None,
    checkpoint: CheckpointPath | None,
    vocabulary: Vocabulary | None,
    stored_casing: tuple[str, bool] | None,
) -> bool:
    """Return do_lower_case from the flag, from the model's files, or True as in the original.

    An encoder module has it in its variables. If it does not, as in the TF1 format, the vocabulary
    decides.

    Args:
        flag_value: flag value, or None.
        checkpoint: the checkpoint, or None.
        vocabulary: the vocabulary, or None.
        stored_casing: (file, do_lower_case) from the model's files, or None.
    """
    if flag_value is not None:
        return flag_value
    if stored_casing:
        return stored_casing[1]
    if not checkpoint or checkpoint.kind != HUB or not vocabulary:
        return True
    lower_cases = module_lower_cases(checkpoint.location, checkpoint.name)
    return not looks_cased(vocabulary) if lower_cases is None else lower_cases


def module_lower_cases(folder: str, description: str) -> bool | None:
    """Return whether texts must be lowercased for a module; None if it has no such setting.

    Modules in TF1 format do not have it.

    Args:
        folder: the module's directory.
        description: name for messages.

    Raises:
        InputError: if the module is damaged.
    """
    try:
        entry = read_index(os.path.join(folder, "variables", "variables")).get(_CASING_KEY)
        return bool(read_array(entry, _CASING_KEY)) if entry and entry.is_plain else None
    except (ValueError, OSError) as error:
        raise InputError(f"{description}: this module is damaged: {first_line(error)}") from None
