"""The graph tokenizer returns the Python tokenizer's ids with added tokens and other settings."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.tokenizer_files import find_tokenizer_files, read_tokenizer
from bert_cli.text.tokenizer_settings import AddedToken, TokenizerSettings
from tests.snapshots import raises
from tests.tokenizer_folders import CONFIGURATIONS, SIZE, TEXTS, added_token, bert, tokenizer_json, write

ALL_AT_ONCE = {
    "tokenizer": tokenizer_json(
        [
            added_token("<user>", SIZE, normalized=True),
            added_token("[E1]", SIZE + 1, special=True),
            added_token("Möchte", SIZE + 2, normalized=True),
            added_token("文本", SIZE + 3, normalized=True),
            added_token("New York", SIZE + 4),
            added_token("zzz", SIZE + 5),
            added_token("zz\\z", SIZE + 6),
        ],
        strip_accents=False,
        longest=99,
    ),
    "tokenizer_config": bert(strip_accents=False),
}
MORE_TEXTS = [
    *TEXTS,
    "ZZZ zzz azzza zzzz zz\\zz",
    "\U00040002[E1]\U000dffff",
    "İ" * 50 + " " + "İ" * 49,
    "ΑΣ<user>α ΑΣ[E1]",
]


def encode_twice(folder, files):
    """Return the ids from the Python tokenizer and from the graph."""
    setup_tensorflow()
    import tensorflow as tf

    from bert_cli.exports.text_graph import GraphTokenizer

    folder = write(folder, **files)
    vocab_file = str(folder / ("vocab.txt" if "vocab" in files else "tokenizer.json"))
    stored = read_tokenizer(vocab_file, find_tokenizer_files(vocab_file))
    do_lower_case = stored.casing is None or stored.casing[1]
    python = FullTokenizer(stored.vocabulary, do_lower_case, settings=stored.settings)
    graph = GraphTokenizer(stored.vocabulary, do_lower_case, settings=stored.settings)
    from_graph = graph.pieces(tf.constant(MORE_TEXTS)).merge_dims(1, 2).to_list()
    return [python.encode(text) for text in MORE_TEXTS], from_graph


def test_the_graph_has_the_ids_of_the_python_tokenizer(tmp_path):
    expected, from_graph = encode_twice(tmp_path, ALL_AT_ONCE)
    assert from_graph == expected
    assert expected[MORE_TEXTS.index("<USER>the<user>")] == [SIZE, 13, SIZE]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CONFIGURATIONS if name != "single word"])
def test_the_graph_of_each_configuration(tmp_path, name):
    expected, from_graph = encode_twice(tmp_path, CONFIGURATIONS[name])
    assert from_graph == expected


@pytest.mark.parametrize(
    "settings",
    [
        TokenizerSettings(never_split=("a", "b")),
        TokenizerSettings(added_tokens=(AddedToken("<x>", 5, single_word=True),)),
    ],
)
def test_unsupported_settings_are_refused(settings):
    from bert_cli.exports.text_graph import check_settings

    with raises(InputError):
        check_settings(settings)
