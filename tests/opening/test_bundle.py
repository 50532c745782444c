"""Tokenizer files and fingerprint for a loaded model."""

from bert_cli.model.config import BertConfig
from bert_cli.opening.bundle import ModelBundle
from bert_cli.text.tokenizer_settings import GOOGLE
from bert_cli.text.vocabulary import vocabulary_of
from bert_cli.weights.path import CheckpointPath

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "dog"]
CONFIG = BertConfig(6, 8, 2, 2, intermediate_size=8, max_position_embeddings=16)


def make_bundle(checkpoint: CheckpointPath, lower: bool = True, **options) -> ModelBundle:
    vocabulary = vocabulary_of(WORDS, "vocab.txt")
    return ModelBundle(
        None, None, checkpoint, config=CONFIG, optional_vocabulary=vocabulary, do_lower_case=lower, **options
    )


def test_the_vocabulary_is_a_tokenizer_file(checkpoint):
    model = make_bundle(checkpoint)
    assert model.tokenizer_settings is GOOGLE
    assert model.tokenizer_files == {"vocab.txt": b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ndog\n"}
    assert model.tokenizer.tokenize("Dog") == ["dog"]
    assert make_bundle(checkpoint, lower=False).tokenizer.tokenize("Dog") == ["[UNK]"]


def test_the_fingerprint_depends_on_the_casing(checkpoint):
    lower, cased = (make_bundle(checkpoint, lower=is_lower).fingerprint for is_lower in (True, False))
    assert lower | {"do_lower_case": False} == cased
