"""Loading of a tokenizer from a model, or from a vocabulary file alone."""

from bert_cli.base import files
from bert_cli.runs.loading.checkpoints import to_use
from bert_cli.runs.loading.checks import report_tokenizer
from bert_cli.runs.loading.loader import load_model
from bert_cli.settings.groups import ModelFiles
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.tokenizer_files import StoredTokenizer, find_tokenizer_files, is_tokenizer_json, read_tokenizer
from bert_cli.text.vocabulary import Vocabulary, looks_cased, read_vocabulary


def load_tokenizer(flags: ModelFiles) -> FullTokenizer:
    """Return the tokenizer for the model or vocabulary in the flags, or for the built-in model.

    For a vocabulary alone, the casing comes from --do_lower_case, from tokenizer.json, or from the
    words in vocab.txt.
    """
    if flags.vocab_file and not flags.init_checkpoint:
        files.check_readable(flags.vocab_file, "vocab_file")
        vocabulary, stored = read_vocab_file(flags.vocab_file, flags.do_lower_case, flags.strict)
        lower = flags.do_lower_case
        if lower is None:
            lower = stored.casing[1] if stored.casing else not looks_cased(vocabulary)
        return FullTokenizer(vocabulary, lower, settings=stored.settings)
    return load_model(flags, to_use(flags), None).tokenizer


def read_vocab_file(
    vocab_file: str, do_lower_case: bool | None, strict: bool = False
) -> tuple[Vocabulary, StoredTokenizer]:
    """Read a vocabulary file without a model, and report unusual settings.

    A vocab.txt uses Google's rules. A tokenizer.json is read with the tokenizer files next to it.

    Args:
        vocab_file: path of vocab.txt or tokenizer.json.
        do_lower_case: flag value; None if it is not given.
        strict: see checks.warn_or_fail.
    """
    if not is_tokenizer_json(vocab_file):
        vocabulary = read_vocabulary(vocab_file)
        return vocabulary, StoredTokenizer(vocabulary)
    stored = read_tokenizer(vocab_file, find_tokenizer_files(vocab_file))
    assert stored.vocabulary is not None, "there is a vocabulary file"
    report_tokenizer(stored, do_lower_case, strict)
    return stored.vocabulary, stored
