"""Loading of a vocabulary file without a model."""

from bert_cli.base import files
from bert_cli.runs.loading.tokenizer_checks import report_tokenizer
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.tokenizer_files import StoredTokenizer, find_tokenizer_files, is_tokenizer_json, read_tokenizer
from bert_cli.text.vocabulary import Vocabulary, looks_cased, read_vocabulary


def load_from_vocab_file(vocab_file: str, do_lower_case: bool | None) -> FullTokenizer:
    """Return the tokenizer with a vocabulary file's words.

    The casing comes from --do_lower_case, from tokenizer.json, or from the words in vocab.txt.

    Args:
        vocab_file, do_lower_case: flag values.

    Raises:
        InputError: if the file is missing or damaged.
    """
    files.check_readable(vocab_file, "vocab_file")
    vocabulary, stored = read_vocab_file(vocab_file, do_lower_case)
    if do_lower_case is None:
        do_lower_case = stored.casing[1] if stored.casing else not looks_cased(vocabulary)
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
