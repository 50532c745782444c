"""The graph tokenizer gives the Python tokenizer's ids: golden and random texts, all code points."""

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.text.tokenization import BasicTokenizer, FullTokenizer
from bert_cli.text.vocabulary import Vocabulary, read_vocabulary

VOCABULARY = "[PAD] [UNK] [CLS] [SEP] [MASK] a b ##a ##b ##ab s ##s σ ##σ ς ##ς α ##α i ##i ss ß é e . $ € ! 中 ##中"
WORDS = VOCABULARY.split()


def make_graph(vocabulary: Vocabulary, lower: bool, folder):
    """Return encode(texts) -> ids, and words(texts) -> words, as lists."""
    setup_tensorflow()
    import tensorflow as tf

    from bert_cli.exports.text_graph import GraphTokenizer, vocabulary_lines

    path = folder / f"{lower}.txt"
    path.write_bytes(vocabulary_lines(vocabulary).encode())
    graph = GraphTokenizer(vocabulary, lower, str(path))
    signature = [tf.TensorSpec([None], tf.string)]
    # Without autograph, like in the exported preprocessor.
    pieces = tf.function(lambda texts: graph.pieces(texts).merge_dims(1, 2), signature, autograph=False)
    words = tf.function(graph.words, signature, autograph=False)

    def call(function, texts):
        encoded = [text if isinstance(text, bytes) else text.encode() for text in texts]
        return function(tf.constant(encoded, tf.string)).to_list()

    return (lambda texts: call(pieces, texts)), (lambda texts: call(words, texts))


def vocabulary_of(tokens: list[str]) -> Vocabulary:
    return Vocabulary({token: number for number, token in enumerate(tokens)}, tokens, len(tokens), "vocab.txt")


@pytest.fixture(scope="module", params=[True, pytest.param(False, marks=pytest.mark.slow)], ids=["lower", "cased"])
def both(request, tmp_path_factory):
    """The Python tokenizer, and the graph's encode and words."""
    vocabulary = vocabulary_of(WORDS)
    folder = tmp_path_factory.mktemp("vocab")
    return FullTokenizer(vocabulary, request.param, cache_size=0), *make_graph(vocabulary, request.param, folder)


def test_by_hand(both):
    tokenizer, encode, words = both
    if not tokenizer.do_lower_case:
        assert words(["Aé  a$b"]) == [["Aé".encode(), b"a", b"$", b"b"]]
        return
    assert words(["  A\tbÉ中b ", "", "ΑΣ ΣΑΣ, Σ", "İ ẞ a\u200bb\x0bc"]) == [
        [word.encode() for word in row]
        for row in (["a", "be", "中", "b"], [], ["ας", "σας", ",", "σ"], ["i", "ß", "abc"])
    ]
    assert encode(["ab aab zz .", "a" * 200, "a" * 201]) == [[5, 8, 5, 9, 1, 24], [5] + [7] * 199, [1]]
    assert encode([b"a\xffb \xed\xa0\x80b", "a\0b"]) == [[5, 8, 6], [5, 8]]


TEXTS = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from("abAΣσΑ. \t\u0301\u0323\u00ad'中ßİ\u200d\u0345:"))
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(texts=st.lists(TEXTS, max_size=20))
def test_random_texts(both, texts):
    tokenizer, encode, _ = both
    assert encode(texts) == [tokenizer.encode(text) for text in texts]


def known_text(text: str) -> str:
    """Return the text with characters that this Python does not know as U+FDD0, as in the graph."""
    return "".join("\ufdd0" if unicodedata.category(character) == "Cn" else character for character in text)


@pytest.mark.slow
def test_all_code_points(both):
    """Each is inside a word, next to sigmas and between accents; some planes have every 97th only."""
    tokenizer, _, words = both
    basic = BasicTokenizer(tokenizer.do_lower_case, cache_size=0)
    codes = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and (c < 0x40000 or c % 97 == 0 or c >> 12 == 0xE0)]
    different = []
    for start in range(0, len(codes), 1000):
        chosen = map(chr, codes[start : start + 1000])
        texts = [f"a{c}a AΣ{c}B A{c}Σ {c}Σ{c}. e\u0301{c}\u0323x" for c in chosen]
        for text, tokens in zip(texts, words(texts), strict=True):
            if [known_text(word.decode()) for word in tokens] != [known_text(word) for word in basic.tokenize(text)]:
                different.append(text)
    assert not different


def test_untidy_vocabulary(tmp_path):
    """A repeated token has the id of its last line; blank lines and carriage returns never match."""
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "", "b", "a", "", "##b", "x\ry", "xy", ""]
    vocabulary = vocabulary_of(tokens)
    encode, _ = make_graph(vocabulary, True, tmp_path)
    texts = ["a b ab xy", "x\ry", "x"]
    assert encode(texts) == [FullTokenizer(vocabulary).encode(text) for text in texts]
    assert encode(texts)[0] == [8, 7, 8, 10, 12]


@pytest.mark.slow
def test_characters_newer_than_python(tmp_path):
    """One in the vocabulary matches; others are unknown words, and ideographs are separate words."""
    new = next(chr(code) for code in range(0x1FAE0, 0x1FB00) if unicodedata.category(chr(code)) == "Cn")
    vocabulary = vocabulary_of([*WORDS, new])
    encode, words = make_graph(vocabulary, True, tmp_path)
    assert encode([f"a {new} \u0378 \U00040000"]) == [[5, len(WORDS), 1, 1]]
    assert words(["a\ufaffb"]) == [[b"a", "\ufaff".encode(), b"b"]]


@pytest.mark.parametrize(
    ("name", "lower"),
    [
        ("uncased", True),
        pytest.param("cased", False, marks=pytest.mark.slow),
        pytest.param("chinese", True, marks=pytest.mark.slow),
        ("small", False),
    ],
)
def test_golden(shared, tmp_path, name, lower):
    """All golden texts with all combinations of flags that have more than 200 of them."""
    folder = shared / "golden" / "tokenization"
    cases = [case for case in read_cases(folder) if case["vocab"] == name and case["do_lower_case"] == lower]
    assert len(cases) > 400
    encode, _ = make_graph(read_vocabulary(str(folder / f"vocab_{name}.txt")), lower, tmp_path)
    ids = encode([case["text"] for case in cases])
    assert [case for case, actual in zip(cases, ids, strict=True) if actual != case["ids"]] == []


def read_cases(folder) -> list[dict]:
    lines = (folder / "cases.jsonl").read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return [json.loads(line) for line in lines]


@pytest.mark.slow
def test_golden_through_the_exported_preprocessor(shared, tmp_path):
    """All kinds of text (plain, hard, random) give Google's ids, as pieces and packed to 128."""
    setup_tensorflow()
    import tensorflow as tf

    from bert_cli.exports.preprocessor import save_preprocessor
    from bert_cli.exports.text_graph import GraphTokenizer, vocabulary_lines
    from bert_cli.features.packing import pack

    folder = shared / "golden" / "tokenization"
    vocabulary = read_vocabulary(str(folder / "vocab_uncased.txt"))
    cases = [case for case in read_cases(folder) if case["vocab"] == "uncased" and case["do_lower_case"]]
    assert len(cases) == 1603
    (tmp_path / "vocab.txt").write_bytes(vocabulary_lines(vocabulary).encode())
    save_preprocessor(
        str(tmp_path / "module"), GraphTokenizer(vocabulary, True, str(tmp_path / "vocab.txt")), vocabulary, 128
    )
    module = tf.saved_model.load(str(tmp_path / "module"))
    texts = tf.constant([case["text"].encode() for case in cases])
    pieces = module.tokenize(texts).merge_dims(1, 2).to_list()
    differences = {}
    for case, actual in zip(cases, pieces, strict=True):
        if actual != case["ids"]:
            differences[case["group"]] = differences.get(case["group"], 0) + 1
    assert differences == {}
    packed = module(texts)
    for case, actual, mask in zip(cases, packed["input_word_ids"].numpy(), packed["input_mask"].numpy(), strict=True):
        expected = pack(case["ids"], None, 128, vocabulary.ids["[CLS]"], vocabulary.ids["[SEP]"]).token_ids
        assert actual.tolist() == expected + [0] * (128 - len(expected))
        assert mask.sum() == len(expected)
