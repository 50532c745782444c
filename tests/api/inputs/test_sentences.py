"""Sentences for a tagger: every form of the same sentences gives the same examples."""

import pandas as pd
import pytest

from bert_cli.api.inputs.sentences import make_words_example, read_sentences, read_texts_or_words
from bert_cli.base.errors import InputError, InputTypeError, name_arguments_in_errors
from tests.snapshots import raises

SENTENCES = [(["Anna", "lives", "in", "Kelm"], ["B-PER", "O", "O", "B-LOC"]), (["Bob", "left"], ["B-PER", "O"])]
NAMES = ["O", "B-PER", "B-LOC"]
WORDS = pd.DataFrame(
    [
        (number, word, tag)
        for number, (words, tags) in enumerate(SENTENCES)
        for word, tag in zip(words, tags, strict=True)
    ],
    columns=["sentence", "word", "tag"],
)
NUMBERS = [{"tokens": words, "ner_tags": [NAMES.index(tag) for tag in tags], "id": "7"} for words, tags in SENTENCES]


class Feature:
    """A feature of a datasets.Dataset with names."""

    def __init__(self, names):
        self.feature = type("ClassLabel", (), {"names": names})


class Dataset:
    """A table that is used like a datasets.Dataset; its features name the tags."""

    column_names = ("tokens", "ner_tags")
    features = {"tokens": object(), "ner_tags": Feature(NAMES)}  # noqa: RUF012

    def __len__(self):
        return len(NUMBERS)

    def __getitem__(self, name):
        return [row[name] for row in NUMBERS]


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (SENTENCES, {}),
        ((tuple(map(tuple, sentence)) for sentence in SENTENCES), {}),
        ([list(zip(*sentence, strict=True)) for sentence in SENTENCES], {}),
        ([{"tokens": words, "ner_tags": tags} for words, tags in SENTENCES], {}),
        (NUMBERS, {"labels": NAMES}),
        (NUMBERS, {"labels": ",".join(NAMES)}),
        (Dataset(), {}),
        (pd.DataFrame({"words": [w for w, _ in SENTENCES], "tags": [t for _, t in SENTENCES]}), {}),
        (WORDS, {}),
        (WORDS.to_dict("records"), {}),
        (WORDS.rename(columns={"word": "x", "tag": "y"}), {"word_column": "x", "tag_column": "y"}),
        (WORDS.astype({"word": "category", "tag": "string"}).set_index("sentence", drop=False), {}),
    ],
)
def test_all_forms_give_the_same_sentences(data, options):
    examples = read_sentences("train", data, options).examples
    assert [(list(example.words), list(example.tags)) for example in examples] == SENTENCES


def test_two_words_are_read_as_in_longer_sentences():
    """Two words may be (words, tags) or two pairs; the other sentences decide."""
    pairs = [[("Bob", "B-PER"), ("left", "O")], [("Anna", "B-PER")]]
    assert [example.words for example in read_sentences("train", pairs, {}).examples] == [("Bob", "left"), ("Anna",)]
    columns = [(("Bob", "left"), ("B-PER", "O"))]
    assert read_sentences("train", columns, {}).examples[0].tags == ("B-PER", "O")


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ([(["a", "b"], ["O"])], "train[0]: "),
        ([(["a"], ["O"]), ["a", "b"]], "train[1]: "),
        ([[("a", "O"), ("b", None)]], "train[0]: "),
        ([(["a", ""], ["O", "O"])], "train[0]: "),
        ([([], [])], "train: "),
        ([], "train: "),
        (NUMBERS, "train[0]: "),
        (WORDS.assign(tag=[*WORDS["tag"][:3], None, *WORDS["tag"][4:]]), "train[3]: "),
        (WORDS.assign(word=[*WORDS["word"][:4], None, *WORDS["word"][5:]]), "train[4]: "),
        (WORDS.rename(columns={"word": "x", "tag": "y"}), "train: "),
        ([{"tokens": ["a"], "ner_tags": {"a": "O"}}], "train[0]: "),
        ("train.txt: Anna", "train: "),
    ],
)
def test_other_forms_are_refused(data, place):
    with raises(InputError, place):
        name_arguments_in_errors()(read_sentences)("train", data, {})


def test_words_have_offsets_in_their_text():
    texts, words = read_texts_or_words([["New York", "is"], [], ("large",)])
    assert texts.singles == ["New York is", "", "large"]
    example = make_words_example(words[0])
    assert [example.text[start:] for start in example.starts] == ["New York is", "is"]
    assert read_texts_or_words(["a text"])[1] is None
    assert read_texts_or_words(pd.DataFrame({"text": ["a"]}))[1] is None


@pytest.mark.parametrize("texts", [[["a", 3]], [["a", " "]], [["a"], "b"], [("a",), None]])
def test_a_list_of_words_has_texts_alone(texts):
    with raises(InputTypeError, "texts["):
        read_texts_or_words(texts)
