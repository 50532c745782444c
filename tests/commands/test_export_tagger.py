"""bert-export: a tagger as a SavedModel gives the words, tags, offsets and probabilities of bert-tag."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.text_lines import split_text
from bert_cli.export_model import main
from bert_cli.exports.signatures.words import WordSplitter
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.tokenizer_settings import AddedToken, TokenizerSettings
from bert_cli.text.vocabulary import read_vocabulary
from tests.commands import helpers, tag_run
from tests.commands.test_export import SERVE
from tests.commands.test_export_vectors import id_inputs, serve
from tests.snapshots import raises

TEXTS = [
    "the old farmer likes a small dog .",
    "",
    "Ein  Öl-Fisch, \u00a0the   cat\u200b \u200b.",
    " ".join(tag_run.LONG[0]),
    "中a中 bird",
]


@pytest.fixture(scope="module")
def exported(tagger, tmp_path_factory):
    out = tmp_path_factory.mktemp("tagger") / "1"
    assert main([f"--init_checkpoint={tagger}", f"--export_dir={out}"]) == 0
    return out


def expected_of(tagger, texts):
    """Return the examples and predictions of the commands."""
    from bert_cli import Tagger

    text_tagger = Tagger.load(str(tagger), precision="float32")._tagger
    examples = text_tagger.split(texts)
    return examples, text_tagger.tag(examples)


def check_outputs(outputs, tagger, texts):
    for row, (example, prediction) in enumerate(zip(*expected_of(tagger, texts), strict=True)):
        seen = np.flatnonzero(~np.isnan(prediction.probabilities))
        count = len(seen)
        words = [example.words[word] for word in seen]
        starts = [example.starts[word] for word in seen]
        assert [word if isinstance(word, str) else word.decode() for word in outputs["words"][row][:count]] == words
        assert [tag if isinstance(tag, str) else tag.decode() for tag in outputs["tags"][row][:count]] == [
            prediction.tags[word] for word in seen
        ]
        assert list(outputs["starts"][row][:count]) == starts
        assert list(outputs["ends"][row][:count]) == [
            start + len(word) for start, word in zip(starts, words, strict=True)
        ]
        np.testing.assert_allclose(outputs["scores"][row][:count], prediction.probabilities[seen], atol=1e-5)
        probabilities = np.exp(prediction.log_probabilities[seen])
        np.testing.assert_allclose(
            np.reshape(outputs["probabilities"][row][:count], probabilities.shape), probabilities, atol=1e-5
        )
        assert set(outputs["starts"][row][count:]) <= {-1}
        assert set(np.ravel(outputs["scores"][row][count:])) <= {0.0}


def test_outputs(tagger, exported):
    """Texts in several windows, without words, and with words without pieces."""
    outputs = serve(exported, text=TEXTS)
    check_outputs(outputs, tagger, TEXTS)
    assert [label.decode() for label in outputs["labels"][0]] == (tagger / "labels.txt").read_text().split()
    check_outputs(serve(exported, text=["", "  "]), tagger, ["", " "])


def test_token_ids(tagger, exported):
    import tensorflow as tf

    texts = ["the old farmer likes a small dog .", "a cat"]
    by_ids = tf.saved_model.load(str(exported)).signatures["token_ids"]
    inputs = {name: tf.constant(values) for name, values in id_inputs(tagger, texts).items()}
    probabilities = by_ids(**inputs)["probabilities"].numpy()
    _, predictions = expected_of(tagger, texts)
    np.testing.assert_allclose(probabilities[1, 1:3], np.exp(predictions[1].log_probabilities), atol=1e-5)


@pytest.mark.slow
def test_without_this_package(tagger, exported, tmp_path):
    process = subprocess.run(
        [sys.executable, "-c", SERVE, str(exported)],
        input=json.dumps({"text": TEXTS}),
        capture_output=True,
        check=True,
        text=True,
        cwd=tmp_path,
    )
    check_outputs(json.loads(process.stdout)[0], tagger, TEXTS)


def test_words(tagger):
    """The graph splits texts as the commands do, also at added tokens."""
    import tensorflow as tf

    vocabulary = read_vocabulary(str(tagger / "vocab.txt"))
    settings = TokenizerSettings(added_tokens=(AddedToken("[MASK]", vocabulary.ids["[MASK]"], normalized=False),))
    tokenizer = FullTokenizer(vocabulary, settings=settings)
    texts = [
        "a [MASK]b.[MASK]",
        "",
        "É\x0bx\u2028y",
        "\u3000a\u00adb\u0301 ¿qué? 😀x",
        "a\x1cb c\x85d",
        "[mask] $5,000",
    ]
    words = WordSplitter(settings).split(tf.constant(texts))
    for row, text in enumerate(texts):
        expected, starts = split_text(text, tokenizer)
        assert [word.decode() for word in words.texts[row].numpy()] == list(expected)
        assert words.starts[row].numpy().tolist() == list(starts)


def test_refusals(tagger, tmp_path, capfd):
    copy = tmp_path / "copy"
    shutil.copytree(tagger, copy)
    labels = (copy / "labels.txt").read_text()
    flags = [f"--init_checkpoint={copy}", f"--export_dir={tmp_path / 'out'}"]
    helpers.call(capfd, "bert-export", main, *flags, "--labels=O,B-X").assert_refused("--labels=O,B-X")
    (copy / "labels.txt").unlink()
    helpers.call(capfd, "bert-export", main, *flags).assert_refused("labels.txt")
    (copy / "run.json").unlink()
    helpers.call(capfd, "bert-export", main, *flags).assert_refused("has no labels.txt")
    (copy / "labels.txt").write_text("".join(labels.splitlines(keepends=True)[:-1]))
    helpers.call(capfd, "bert-export", main, *flags).assert_refused("has 5 outputs, but there are 4 labels")
    assert not (tmp_path / "out").exists()


def test_added_tokens_in_normalized_text_are_refused():
    settings = TokenizerSettings(added_tokens=(AddedToken("Übung", 7),))
    with raises(InputError, "Übung"):
        WordSplitter(settings)
