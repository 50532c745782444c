"""bert-extract-features as a user calls it, compared with Google's files and with NumPy."""

import importlib.util
import json
import pathlib
import re
import shlex
import subprocess
import sys

import numpy as np
import numpy_bert
import pytest

from bert_cli import FeatureExtractor
from bert_cli.base.errors import InputTypeError
from bert_cli.extract_features import main
from bert_cli.flags.option import build
from bert_cli.predicting import vectors as predicting_vectors
from bert_cli.records.example_proto import decode_example
from bert_cli.records.tfrecord import read_records
from bert_cli.settings.texts import ExtractSettings
from tests.rows import write_rows
from tests.snapshots import check_message, raises

TEXTS = ["The cat sees a dog.", "a bird", "", "my dog ||| likes bread , not fish", "qua " * 12, "a old house !"]
# A number in a list, not an index before a name.
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-\d+)?(?=, -?\d|\])")


@pytest.fixture(scope="module")
def checkpoint(two_layer_model, tmp_path_factory) -> tuple[pathlib.Path, dict, dict]:
    """A directory with a TF1 checkpoint of random weights, and its config and weights."""
    config = json.loads((two_layer_model / "bert_config.json").read_text(encoding="utf-8"))
    weights = numpy_bert.random_weights(numpy_bert.variable_shapes(config), seed=1)
    folder = tmp_path_factory.mktemp("features_model")
    for name in ("vocab.txt", "bert_config.json"):
        (folder / name).write_bytes((two_layer_model / name).read_bytes())
    from bert_cli.runtime.tensorflow_setup import setup_tensorflow

    setup_tensorflow()
    from bert_cli.weights.formats.checkpoint_writer import write_tf1

    write_tf1(str(folder / "bert_model.ckpt"), {name: value.astype(np.float32) for name, value in weights.items()})
    return folder, config, weights


@pytest.fixture
def extract(checkpoint, tmp_path, capfd):
    """Call the command on TEXTS or with other flags; return exit code, output file and log.

    The engine is onnxruntime, because TensorFlow traces a graph in each call.
    """
    write_rows(tmp_path / "texts.txt", TEXTS)

    def call(*arguments, **flags):
        output = tmp_path / flags.pop("name", "out.jsonl")
        flags = {"input_file": tmp_path / "texts.txt", "output_file": output, "init_checkpoint": checkpoint[0]} | flags
        flags = {"precision": "float32", "max_seq_length": 16, "layers": "-1", "engine": "onnxruntime"} | flags
        if "show_attention" in flags:
            flags |= dict.fromkeys(("input_file", "output_file", "layers"))
        arguments_list = [f"--{name}={value}" for name, value in flags.items() if value is not None]
        capfd.readouterr()
        code = main([*arguments_list, *arguments])
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        return code, output, out, err

    return call


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def states(checkpoint, tokens, first_length):
    """Return embedding output and layers, float64 [1 + layers, tokens, H], and pooled output [H]."""
    folder, config, weights = checkpoint
    vocabulary = (folder / "vocab.txt").read_text(encoding="utf-8").split("\n")
    numbers = {word: number for number, word in enumerate(vocabulary)}
    ids = np.array([[numbers[token] for token in tokens]])
    segments = (np.arange(len(tokens)) >= first_length).astype(int)[None]
    outputs = numpy_bert.forward(config, weights, ids, np.ones_like(ids), segments)
    return np.concatenate([outputs["embedding_output"], *outputs["encoder_outputs"]]), outputs["pooled_output"][0]


@pytest.mark.parametrize("name", ["features", "features_cased"])
def test_same_file_as_googles(shared, tmp_path, name):
    folder = shared / "golden" / "features"
    flags = json.loads((folder / f"{name}.flags.json").read_text(encoding="utf-8"))["flags"]
    flags |= {key: folder / flags[key] for key in ("input_file", "vocab_file", "bert_config_file", "init_checkpoint")}
    flags |= {"output_file": tmp_path / "out.jsonl", "precision": "float32"}
    assert main([f"--{key}={value}" for key, value in flags.items()]) == 0
    expected, actual = (
        (path).read_text(encoding="utf-8") for path in (folder / f"{name}.jsonl", tmp_path / "out.jsonl")
    )
    assert NUMBER.sub("#", actual) == NUMBER.sub("#", expected)
    numbers = [np.array([float(number) for number in NUMBER.findall(text)]) for text in (actual, expected)]
    np.testing.assert_allclose(numbers[0], numbers[1], rtol=0, atol=1.1e-5)


def test_token_vectors_equal_the_numpy_model(extract, checkpoint):
    code, path, _, err = extract(layers="embedding,0,-1", engine="tensorflow")
    assert code == 0
    assert f"wrote {path}: {len(TEXTS)} lines, " in err
    lines = read_lines(path)
    assert [line["linex_index"] for line in lines] == list(range(len(TEXTS)))
    for number, first_length in ((1, 4), (3, 4), (2, 2)):
        features = lines[number]["features"]
        expected, _ = states(checkpoint, [feature["token"] for feature in features], first_length)
        for at, feature in enumerate(features):
            assert [layer["index"] for layer in feature["layers"]] == ["embedding", 0, -1]
            actual = np.array([layer["values"] for layer in feature["layers"]])
            np.testing.assert_allclose(actual, expected[[0, 1, 2], at], atol=2e-5)


@pytest.mark.parametrize("pooling", ["cls", "mean", "max", "pooler"])
def test_pooling(extract, checkpoint, pooling):
    tokens = ["[CLS]", "my", "dog", "[SEP]", "likes", "bread", ",", "not", "fish", "[SEP]"]
    layers = None if pooling == "pooler" else "0:1"
    code, path, _, _ = extract(pooling=pooling, layers=layers, name="out.npy", output_format="npy", engine="tensorflow")
    assert code == 0
    expected, pooled = states(checkpoint, tokens, 4)
    chosen = expected[1:]
    by_name = {"cls": chosen[:, 0], "mean": chosen.mean(axis=1), "max": chosen.max(axis=1), "pooler": pooled}
    vectors = np.load(path)
    assert vectors.shape == (len(TEXTS), 16 if pooling == "pooler" else 32)
    np.testing.assert_allclose(vectors[3], by_name[pooling].ravel(), atol=2e-5)


def test_combine_and_normalize(extract):
    plain = read_lines(extract(layers="0,1")[1])
    both = read_lines(extract("--normalize", layers="0,1", combine="sum")[1])
    for line, combined in zip(plain, both, strict=True):
        for feature, combined_feature in zip(line["features"], combined["features"], strict=True):
            values = np.sum([layer["values"] for layer in feature["layers"]], axis=0)
            np.testing.assert_allclose(combined_feature["values"], values / np.linalg.norm(values), atol=3e-6)


def test_word_vectors(extract):
    tokens = read_lines(extract()[1])
    words = read_lines(extract("--words", layers=None)[1])
    assert [(word["word"], word["start"], word["end"]) for word in words[3]["words"]] == [
        ("my", 0, 2), ("dog", 3, 6), ("likes", 11, 16), ("bread", 17, 22), (",", 23, 24), ("not", 25, 28), ("fish", 29, 33),
    ]  # fmt: skip
    for line, text in zip(words, TEXTS, strict=True):
        assert all(text[word["start"] : word["end"]] == word["word"] for word in line["words"])
    pieces = [feature["layers"][0]["values"] for feature in tokens[4]["features"]][1:4]  # q ##u ##a
    np.testing.assert_allclose(words[4]["words"][0]["layers"][0]["values"], np.mean(pieces, axis=0), atol=2e-6)


def test_shown_attention_of_a_text_that_is_cut(extract):
    code, _, _, err = extract(show_attention="a bird " * 9, layer=0, head=1, top_k=1, max_seq_length=16)
    assert code == 0
    check_message(err, "--show_attention: ")


def test_long_text_cuts_nothing(extract):
    cut, err = read_lines(extract()[1]), extract()[3]
    check_message(err, "--long_text")
    code, path, _, err = extract("--long_text")
    whole = read_lines(path)
    assert code == 0
    assert "were cut" not in err
    assert [feature["token"] for feature in whole[4]["features"]] == ["[CLS]", *["q", "##u", "##a"] * 12, "[SEP]"]
    np.testing.assert_allclose(
        whole[4]["features"][0]["layers"][0]["values"], cut[4]["features"][0]["layers"][0]["values"], atol=1e-5
    )
    vectors = np.load(extract("--long_text", pooling="mean", output_format="npy", name="m.npy")[1])
    values = [feature["layers"][0]["values"] for feature in whole[4]["features"]]
    np.testing.assert_allclose(vectors[4], np.mean(values, axis=0), atol=1e-5)


@pytest.fixture
def small_chunks(monkeypatch):
    """Make chunks so small that the texts need two of them."""
    monkeypatch.setattr(predicting_vectors, "MAX_LINES", 4)


def test_resume_continues_after_the_last_complete_line(extract, small_chunks):
    _, path, _, _ = extract()
    whole = path.read_text(encoding="utf-8")
    partial = path.with_name("out.jsonl.partial")
    extract(input_file=path.with_name("texts.txt"))
    # A run that ends at a bad line keeps its output, like a killed one.
    texts = path.with_name("texts.txt")
    good = texts.read_bytes()
    path.unlink()
    texts.write_bytes(good + b"\xff\n")
    code, _, _, err = extract()
    assert code == 1
    check_message(err, f"texts.txt:{len(TEXTS) + 1}: ")
    assert partial.exists()
    assert not path.exists()
    texts.write_bytes(good)
    lines = whole.splitlines(keepends=True)
    partial.write_text("".join(lines[:2]) + lines[2][:30], encoding="utf-8")
    code, _, _, err = extract("--resume", pooling="mean")
    assert code == 1
    check_message(err, "--pooling=none")
    code, _, _, err = extract("--resume")
    assert code == 0
    assert "resuming after line 2" in err
    content = path.read_text(encoding="utf-8")
    assert NUMBER.sub("#", content) == NUMBER.sub("#", whole)
    assert not list(path.parent.glob("out.jsonl.*"))
    assert "nothing is left to do" in extract("--resume")[3]


SLOWER = [pytest.param(name, marks=pytest.mark.slow) for name in ("bert_config_file", "do_lower_case")]


@pytest.mark.parametrize("changed", ["vocab_file", "precision", *SLOWER])
def test_resume_compares_all_settings_that_change_vectors(extract, checkpoint, tmp_path, small_chunks, changed):
    texts = tmp_path / "texts.txt"
    good = texts.read_bytes()
    texts.write_bytes(good + b"\xff\n")
    assert extract()[0] == 1
    texts.write_bytes(good)
    partial = b""
    (tmp_path / "out.jsonl.partial").write_bytes(partial)
    for name in ("vocab.txt", "bert_config.json"):
        (tmp_path / name).write_bytes((checkpoint[0] / name).read_bytes())
    same = {"vocab_file": tmp_path / "vocab.txt", "bert_config_file": tmp_path / "bert_config.json"}
    words = (tmp_path / "vocab.txt").read_text(encoding="utf-8").split("\n")
    other_config = checkpoint[1] | {"layer_norm_eps": 1e-5}
    (tmp_path / "other.txt").write_text("\n".join([*words[:6], words[7], words[6], *words[8:]]), encoding="utf-8")
    (tmp_path / "other.json").write_text(json.dumps(other_config), encoding="utf-8")
    other_values = {"vocab_file": tmp_path / "other.txt", "bert_config_file": tmp_path / "other.json"}
    other_values |= {"precision": "int8", "do_lower_case": "false"}
    code, path, _, err = extract("--resume", **{changed: other_values[changed]})
    assert code == 1
    check_message(err, "out.jsonl.partial: ")
    assert (tmp_path / "out.jsonl.partial").read_bytes() == partial
    # The same words and sizes in other files are the same model.
    assert extract("--resume", **same)[0] == 0
    assert len(read_lines(path)) == len(TEXTS)


def test_help_examples_can_be_copied(capfd):
    assert main(["--help"]) == 0
    shown = capfd.readouterr().out
    examples = re.findall(r"^  (bert-extract-features (?:.*\\\n)*.*)$", shown, re.MULTILINE)
    assert max(len(line) for example in examples for line in example.split("\n")) <= 80
    commands = [shlex.split(example.replace("\\\n", "")) for example in examples]
    assert [len(command) for command in commands] == [4, 5]
    assert all(word.startswith("--") for command in commands for word in command[1:])
    assert main(["--helpfull"]) == 0
    assert "as the model was trained (default" not in capfd.readouterr().out


def test_formats_hold_the_same_vectors(extract):
    lines = read_lines(extract()[1])
    values = np.array([feature["layers"][0]["values"] for line in lines for feature in line["features"]])
    with np.load(extract(output_format="npz", name="out.npz")[1]) as arrays:
        np.testing.assert_allclose(arrays["vectors"][:, 0], values, atol=1e-6)
        assert np.diff(arrays["offsets"]).tolist() == [len(line["features"]) for line in lines]
    half = np.load(extract("--float16", output_format="npy", name="h.npy", pooling="cls")[1])
    assert half.dtype == np.float16
    np.testing.assert_allclose(half[0], values[0], rtol=1e-3, atol=1e-4)
    records = [decode_example(r) for r in read_records(str(extract(output_format="tfrecord", name="out.tfrecord")[1]))]
    np.testing.assert_allclose([record["layer_-1"] for record in records], values, atol=1e-6)
    assert [int(record["linex_index"][0]) for record in records][-1] == 5


def test_parquet(extract):
    if importlib.util.find_spec("pyarrow") is None:
        code, path, _, err = extract(output_format="parquet", name="out.parquet")
        assert code == 1
        assert "--output_format=parquet needs the package pyarrow" in err
        assert not path.exists()
        return
    import pandas

    lines = read_lines(extract("--words")[1])
    table = pandas.read_parquet(extract("--words", output_format="parquet", name="out.parquet")[1])
    assert table["word"].tolist() == [word["word"] for line in lines for word in line["words"]]
    values = [word["layers"][0]["values"] for line in lines for word in line["words"]]
    np.testing.assert_allclose(np.stack(table["layer_-1"]), values, atol=1e-6)


def test_attention(extract, checkpoint, tmp_path):
    assert extract(attentions=tmp_path / "attention.npz")[0] == 0
    with np.load(tmp_path / "attention.npz") as arrays:
        assert len(arrays) == 2 * len(TEXTS)
        assert arrays["tokens_1"].tolist() == ["[CLS]", "a", "bird", "[SEP]"]
        attention = arrays["attention_1"]
        assert attention.shape == (2, 2, 4, 4)
        np.testing.assert_allclose(attention.sum(axis=-1), 1, atol=1e-5)
    code, _, out, _ = extract(show_attention="a bird", layer=0, head=1, top_k=1, max_seq_length=16)
    assert code == 0
    names, inner = ["a:1", "bird:2"], attention[0, 1, 1:3, 1:3]
    row, column = np.unravel_index(inner.argmax(), (2, 2))
    assert out == f"{inner.max():.4f}  {names[row]} -> {names[column]}\n"


def test_attention_from_python(extract, checkpoint, tmp_path):
    extract(attentions=tmp_path / "attention.npz")
    with np.load(tmp_path / "attention.npz") as arrays:
        expected = arrays["attention_1"]
    extractor = FeatureExtractor.load(str(checkpoint[0]), max_seq_length=16)
    cuts = []
    extractor.on_cut = lambda features, length: cuts.append((features.num_cut_texts, length))
    attention = extractor.attention(" a bird")
    assert attention.tokens == ("[CLS]", "a", "bird", "[SEP]")
    assert attention.weights.dtype == np.float32
    np.testing.assert_allclose(attention.weights, expected, atol=1e-6)
    assert extractor.attention("a bird", "a bird " * 9).weights.shape == (2, 2, 16, 16)
    assert cuts == [(0, 16), (1, 16)]
    for text in (None, b"a bird", ["a bird"]):
        with raises(InputTypeError, "text: "):
            extractor.attention(text)


def test_attention_of_a_word(extract, tmp_path):
    extract(attentions=tmp_path / "attention.npz")
    with np.load(tmp_path / "attention.npz") as arrays:
        attention = arrays["attention_1"][0, 1]  # attention of [CLS] a bird [SEP]
    flags = {"show_attention": "a bird", "attention_of": "BIRD", "layer": 0, "head": 1, "max_seq_length": 16}
    code, _, out, _ = extract(**flags)
    assert code == 0
    head, *rows = out.splitlines()
    assert head.split("  ", 1)[1].split() == ["bird:2", "->", "word", "word", "->", "bird:2"]
    names = ["[CLS]:0", "a:1", "bird:2", "[SEP]:3"]
    order = np.argsort(-attention[2], kind="stable")
    expected = [[names[i], f"{attention[2, i]:.4f}", f"{attention[i, 2]:.4f}"] for i in order]
    assert [row.split() for row in rows] == expected
    code, _, _, err = extract(**flags | {"attention_of": "dog"})
    assert code == 1
    check_message(err, "--attention_of=dog: ")


def test_attention_map(extract, tmp_path):
    page = tmp_path / "map.html"
    flags = {"show_attention": "a <b>bird", "attention_map": page, "max_seq_length": 16}
    for _ in range(2):  # our page is replaced
        code, _, out, err = extract(**flags)
        assert code == 0
        assert out == ""
        assert f"wrote {page}: 2 layers, 2 heads, 7 tokens" in err
    text = page.read_text(encoding="utf-8")
    assert text.count('class="large') == 4
    assert "<b>bird" not in text
    page.write_text("mine", encoding="utf-8")
    assert extract(**flags)[0] == 1
    assert page.read_text(encoding="utf-8") == "mine"


@pytest.mark.slow
def test_through_pipes(checkpoint):
    command = [sys.executable, "-m", "bert_cli.extract_features", "--input_file=-", "--output_file=-", "--pooling=mean"]
    command += [f"--init_checkpoint={checkpoint[0]}", "--max_seq_length=16"]
    done = subprocess.run(command, input=b"a bird\n\nlast", capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["linex_index"] for line in lines] == [0, 1, 2]
    assert all(len(line["values"]) == 16 for line in lines)


def test_empty_input_gives_no_vectors(extract, tmp_path):
    (tmp_path / "empty.txt").write_bytes(b"")
    assert extract(input_file=tmp_path / "empty.txt")[1].read_bytes() == b""
    flags = {"input_file": tmp_path / "empty.txt", "pooling": "mean", "output_format": "npy", "name": "e.npy"}
    assert np.load(extract(**flags)[1]).shape == (0, 16)


def test_lines_with_unknown_words(extract, tmp_path):
    source = tmp_path / "unknown.txt"
    source.write_text("dog " * 10 + "\u4e00\n", encoding="utf-8")
    message = f"first lines of {source}: 1 of 11 words (9%) are [UNK]"
    code, path, _, err = extract("--strict", input_file=source)
    assert code == 1
    assert f"error: {message}" in err.splitlines()[-1]
    assert not [*path.parent.glob(f"{path.name}*")]
    code, path, _, err = extract(input_file=source)
    assert code == 0
    assert f"warning: {message}" in err
    assert len(read_lines(path)) == 1


def test_a_text_in_another_language_leaves_no_file(extract, tmp_path):
    source = tmp_path / "unknown.txt"
    source.write_text("\u4e00 \u4e00\n", encoding="utf-8")
    code, path, _, err = extract(input_file=source)
    assert code == 1
    assert "2 of 2 words (100%) are [UNK]" in err.splitlines()[-1]
    assert not [*path.parent.glob(f"{path.name}*")]


@pytest.mark.parametrize(
    ("flags", "fragment"),
    [
        ({"layers": "2"}, ""),
        ({"layers": "0,0", "output_format": "tfrecord"}, "names a layer twice"),
        ({"input_file": "missing.txt"}, "missing.txt: "),
        ({"output_file": "no/such/out.jsonl"}, "no/such: "),
        ({"init_checkpoint": "nowhere"}, "nowhere: no checkpoint there"),
        ({"init_checkpoint": "random"}, "--init_checkpoint=random"),
        ({"output_format": "csv"}, "--output_format=csv"),
        ({"max_seq_length": "65"}, "above the model's 64 positions"),
        ({"max_seq_length": "2"}, "--max_seq_length: "),
        ({"show_attention": "a", "layer": "2"}, "--layer=2: "),
        ({"show_attention": "a", "head": "2"}, "--head=2: "),
        ({"show_attention": "a", "attention_map": "no/such/map.html"}, "no/such: "),
    ],
)
def test_refused_in_one_line(extract, flags, fragment):
    code, path, out, err = extract(**flags)
    assert code == 1
    check_message(err.rstrip("\n").rpartition("\n")[2], fragment)
    assert err.count("error: ") == 1
    assert out == ""
    assert not path.exists()


@pytest.mark.parametrize(
    ("name", "flags", "expected"),
    [
        ("out.jsonl", {}, "--resume goes on"),
        ("other.jsonl", {}, "give the same command again"),
        ("out.jsonl", {"output_format": "npz"}, "give the same command again"),
    ],
)
def test_interruption_promises_resume_only_with_partial_json_lines(tmp_path, name, flags, expected):
    (tmp_path / "out.jsonl.partial").write_text("{}\n", encoding="utf-8")
    settings = build(ExtractSettings, {"input_file": "x", "output_file": str(tmp_path / name)} | flags)
    assert expected in main.interrupted(settings)
