"""A tokenizer alone: of a model, or of a vocabulary without one."""

from bert_cli.base import files
from bert_cli.runs.loading.checkpoints import ready_checkpoint
from bert_cli.runs.loading.loader import load_model
from bert_cli.settings.groups import ModelFiles
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import looks_cased, read_vocabulary


def load_tokenizer(flags: ModelFiles) -> FullTokenizer:
    """The tokenizer of the model or the vocabulary that the flags name, else of the built-in model.

    For a vocabulary alone, its words show whether it is cased, where --do_lower_case does not say
    it.
    """
    if flags.vocab_file and not flags.init_checkpoint:
        files.check_readable(flags.vocab_file, "vocab_file")
        vocabulary = read_vocabulary(flags.vocab_file)
        lower = not looks_cased(vocabulary) if flags.do_lower_case is None else flags.do_lower_case
        return FullTokenizer(vocabulary, lower)
    return load_model(flags, ready_checkpoint(flags.init_checkpoint, flags), None).tokenizer
