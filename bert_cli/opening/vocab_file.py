"""Loading of a vocabulary file without a model, and checks of any model's tokenizer files."""

import os

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG, warn_once_or_fail
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.tokenizer_files import StoredTokenizer, find_tokenizer_files, is_tokenizer_json, read_tokenizer
from bert_cli.text.tokenizer_settings import GOOGLE, LOWER_CASE, TokenizerSettings
from bert_cli.text.vocabulary import Vocabulary, has_marked_words, looks_cased, read_vocabulary

# Directory names of Google's releases. The original infers the casing from them.
_LOWER_CASED = (
    "uncased_L-24_H-1024_A-16",
    "uncased_L-12_H-768_A-12",
    "multilingual_L-12_H-768_A-12",
    "chinese_L-12_H-768_A-12",
)
_CASED = ("cased_L-12_H-768_A-12", "cased_L-24_H-1024_A-16", "multi_cased_L-12_H-768_A-12")


def load_from_vocab_file(vocab_file: str, do_lower_case: bool | None) -> FullTokenizer:
    """Return the tokenizer with a vocabulary file's words.

    The casing comes from --do_lower_case, from tokenizer.json, or from the words in vocab.txt.

    Raises:
        InputError: if the file is missing or damaged.
    """
    files.check_readable(vocab_file, "vocab_file")
    vocabulary, stored = read_vocab_file(vocab_file, do_lower_case)
    if do_lower_case is None:
        is_cased = looks_cased(vocabulary) or has_marked_words(vocabulary)
        do_lower_case = stored.casing[1] if stored.casing else not is_cased
    return FullTokenizer(vocabulary, do_lower_case, settings=stored.settings)


def read_vocab_file(vocab_file: str, do_lower_case: bool | None) -> tuple[Vocabulary, StoredTokenizer]:
    """Read a vocabulary file without a model, and report unusual settings.

    A vocab.txt uses Google's rules. A tokenizer.json is read with the tokenizer files next to it.

    Args:
        vocab_file: path of vocab.txt or tokenizer.json.
        do_lower_case: flag value; None if it is not given.
    """
    if not is_tokenizer_json(vocab_file):
        vocabulary = read_vocabulary(vocab_file)
        return vocabulary, StoredTokenizer(vocabulary)
    stored = read_tokenizer(vocab_file, find_tokenizer_files(vocab_file))
    assert stored.vocabulary is not None, "there is a vocabulary file"
    report_tokenizer(stored, do_lower_case)
    return stored.vocabulary, stored


def report_tokenizer(stored: StoredTokenizer, do_lower_case: bool | None, strict: bool = False) -> None:
    """Log unusual settings of a tokenizer, and report files that contradict each other.

    Args:
        do_lower_case: flag value, which decides the casing; None if it is not given.
        strict: see `warn_once_or_fail`.
    """
    for setting, conflict in stored.conflicts.items():
        if setting != LOWER_CASE or do_lower_case is None:
            warn_once_or_fail(conflict, strict)
    is_lower = do_lower_case
    if is_lower is None:
        is_lower = stored.casing is None or stored.casing[1]
    if stored.vocabulary and (unusual := stored.settings.describe(is_lower)):
        LOG.info("%s: the tokenizer has %s", stored.vocabulary.path, "; ".join(unusual))


def check_casing(
    do_lower_case: bool,
    vocabulary: Vocabulary,
    model_folder: str | None,
    stored_casing: tuple[str, bool] | None = None,
    strict: bool = False,
    settings: TokenizerSettings = GOOGLE,
) -> None:
    """Check that do_lower_case fits the model.

    Args:
        do_lower_case: whether text is lower-cased.
        model_folder: the loaded checkpoint's directory, or None.
        stored_casing: (file, do_lower_case) from the model's files; None if they do not have it.
            It is used instead of the directory name.
        strict: see `warn_once_or_fail`.
        settings: other settings of the tokenizer.

    Raises:
        InputError: if the directory is named like one of Google's releases with the other casing.
            Other conflicts are warnings, see `warn_once_or_fail`.
    """
    # The original infers the casing from this name alone, and refuses the wrong flag.
    name = os.path.basename(os.path.abspath(model_folder)) if model_folder else ""
    if name in _LOWER_CASED and not do_lower_case:
        raise InputError(f"--do_lower_case=false, but {name} is a lower-cased model; leave the flag out")
    if name in _CASED and do_lower_case:
        raise InputError(f"--do_lower_case is true, but {name} is a cased model; give --do_lower_case=false")
    flag = str(do_lower_case).lower()
    if stored_casing and stored_casing[1] != do_lower_case:
        warn_once_or_fail(
            f"--do_lower_case={flag}, but {stored_casing[0]} says {str(stored_casing[1]).lower()}; leave the flag out",
            strict,
        )
    # "uncased" contains "cased", so one test finds both.
    elif not stored_casing and "cased" in name.lower() and ("uncased" in name.lower()) != do_lower_case:
        expected = str(not do_lower_case).lower()
        warn_once_or_fail(
            f"--do_lower_case is {flag}, but the name {name} says {expected}; give --do_lower_case={expected}",
            strict,
        )
    if do_lower_case and looks_cased(vocabulary):
        warn_once_or_fail(
            f"{vocabulary.path} has words with capitals, but text is lower-cased; --do_lower_case=false keeps them",
            strict,
        )
    # The files of a published model know how it was trained.
    elif not stored_casing and settings.removes_accents(do_lower_case) and has_marked_words(vocabulary):
        warn_once_or_fail(
            f"{vocabulary.path} has words with vowel marks, but accents are stripped; --do_lower_case=false keeps them",
            strict,
        )
