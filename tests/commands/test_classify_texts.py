"""Predictions for new texts: --text, --text_b and --input_file of bert-classify."""

import io
import json
import sys

import pytest

from bert_cli.api.classifier import Classifier
from bert_cli.base.errors import InputError
from bert_cli.runs.tasks import interactive
from tests.snapshots import raises


@pytest.fixture
def texts(trained):
    """The texts in the test file that `trained` predicted, with label and probabilities."""
    rows = [line.split("\t") for line in (trained / "predictions.tsv").read_text(encoding="utf-8").splitlines()]
    header, rows = rows[0], rows[1:]
    assert header == ["id", "label", "prob_0", "prob_1", "text"]
    return {row[4]: (row[1], [float(row[2]), float(row[3])]) for row in rows}


def checked(record, texts):
    label, numbers = texts[record["text"].strip()]
    assert record["label"] == label
    assert list(record["probabilities"]) == ["0", "1"]
    assert list(record["probabilities"].values()) == pytest.approx(numbers, rel=1e-5)


FLAGS = ("--precision=float32",)


def test_text(trained, classify, texts, snapshot):
    before = snapshot(trained)
    text = next(iter(texts))
    outcome = classify(f"--output_dir={trained}", "--text", text, *FLAGS)
    assert outcome.code == 0, outcome.err
    record = json.loads(outcome.out)
    assert list(record) == ["index", "text", "label", "probabilities"]
    assert record["index"] == 0
    checked(record, texts)
    assert snapshot(trained) == before


@pytest.fixture
def has_text_pairs(trained):
    """The output_dir of a model with a pair task in its flags."""
    flags = (trained / "flags.txt").read_text("utf-8").replace("--task_name=cola", "--task_name=mrpc")
    (trained / "flags.txt").write_text(flags, encoding="utf-8")
    return trained


def test_pair(has_text_pairs, classify):
    trained = has_text_pairs
    outcome = classify(f"--output_dir={trained}", "--text=a dog", "--text_b=a cat .", *FLAGS)
    record = json.loads(outcome.out)
    assert (record["text"], record["text_b"]) == ("a dog", "a cat .")
    # A pair in a file gives the same result.
    path = trained / "pairs.txt"
    path.write_text("a dog ||| a cat .\n", encoding="utf-8")
    assert json.loads(classify(f"--output_dir={trained}", f"--input_file={path}", *FLAGS).out) == record


@pytest.mark.parametrize("chunk", [512, 3])
def test_lines_in_their_order_with_blank_ones(chunk, trained, classify, texts, tmp_path, monkeypatch):
    monkeypatch.setattr(interactive, "CHUNK", chunk)
    lines = [*texts, "", *list(texts)[::-1]]
    (tmp_path / "in.txt").write_text("\n".join(lines), encoding="utf-8")
    flags = [f"--output_dir={trained}", f"--input_file={tmp_path / 'in.txt'}", *FLAGS]
    outcome = classify(*flags)
    assert outcome.code == 0, outcome.err
    records = [json.loads(line) for line in outcome.out.splitlines()]
    assert [(record["index"], record["text"]) for record in records] == list(enumerate(lines))
    for record in records:
        if record["text"]:
            checked(record, texts)
    assert classify(*flags, f"--output_file={tmp_path / 'out.jsonl'}").out == ""
    assert (tmp_path / "out.jsonl").read_text(encoding="utf-8") == outcome.out


def test_standard_input(trained, classify, texts, monkeypatch):
    data = "".join(f"{text}\r\n" for text in texts).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    outcome = classify(f"--output_dir={trained}", "--input_file=-", *FLAGS)
    records = [json.loads(line) for line in outcome.out.splitlines()]
    assert [record["text"] for record in records] == list(texts)
    for record in records:
        checked(record, texts)


@pytest.mark.parametrize(
    ("flags", "fragment"),
    [
        (
            ["--text=a", "--text=b"],
            "--text",
        ),
        (["--input_file=none.txt"], "none.txt: "),
    ],
)
def test_contradictory_flags(flags, fragment, trained, classify):
    classify(f"--output_dir={trained}", *flags).assert_refused(fragment)


def test_a_pair_for_a_model_of_single_texts(trained, classify, tmp_path):
    for flags in (["--text=a dog"], ["--text=a dog", "--explain"]):
        classify(f"--output_dir={trained}", *flags, "--text_b=a cat").assert_refused("--text_b: ")
    (tmp_path / "in.txt").write_text("a dog\n\na dog ||| a cat\na cat ||| a dog\n", encoding="utf-8")
    outcome = classify(f"--output_dir={trained}", f"--input_file={tmp_path / 'in.txt'}", *FLAGS)
    assert outcome.code == 0, outcome.err
    assert [line for line in outcome.err.splitlines() if "trained on" in line] == [
        f"{tmp_path / 'in.txt'}:3: ' ||| ' is part of the text, as the model was trained on single texts"
    ]
    assert [json.loads(line)["text"] for line in outcome.out.splitlines()][2:] == ["a dog ||| a cat", "a cat ||| a dog"]
    model = Classifier.load(str(trained))
    for call in (lambda: model.predict(["a dog", ("a dog", "a cat")]), lambda: model.records(["a", ("a", "b")])):
        with raises(InputError, "texts[1]: "):
            call()
    with pytest.raises(InputError, match=r"^text_b: has a second text"):
        model.explain("a dog", "a cat")


def test_a_single_text_for_a_model_of_pairs(has_text_pairs, classify, tmp_path):
    trained = has_text_pairs
    for flags in (["--text=a dog"], ["--text=a dog", "--explain"]):
        classify(f"--output_dir={trained}", *flags).assert_refused("--text: ")
    (tmp_path / "in.txt").write_text("a dog ||| a cat\n\na dog\na cat\n", encoding="utf-8")
    outcome = classify(f"--output_dir={trained}", f"--input_file={tmp_path / 'in.txt'}", *FLAGS)
    assert outcome.code == 0, outcome.err
    assert outcome.err.count("the model was trained on pairs") == 1
    message = (
        f"{tmp_path / 'in.txt'}:3: warning: one text, and the model was trained on pairs; put ' ||| ' between the two"
    )
    assert message in outcome.err


def predicted(classify, model, path):
    """The texts and probabilities that --predict_file writes for a file."""
    out = ["--output_format=jsonl", f"--output_dir={model}", "--do_predict", f"--predict_file={path}"]
    # The marks are unknown words.
    outcome = classify(*out, *FLAGS, "--allow_unknown")
    assert outcome.code == 0, outcome.err
    lines = (model / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        (row["text"], row.get("text_b"), pytest.approx(list(row["probabilities"].values()), rel=1e-4))
        for row in map(json.loads, lines)
    ]


def in_every_way(classify, model, text, folder):
    """The texts and probabilities of a text as --text, as a line, and in files of one column."""
    results = []
    outcomes = [classify(f"--output_dir={model}", "--text", text, *FLAGS)]
    for name in ("lines.txt", "rows.tsv"):
        (folder / name).write_text(f"{text}\n", encoding="utf-8")
        outcomes.append(classify(f"--output_dir={model}", f"--input_file={folder / name}", *FLAGS))
        results += predicted(classify, model, folder / name)
    for outcome in outcomes:
        assert outcome.code == 0, outcome.err
        record = json.loads(outcome.out)
        results.append((record["text"], record.get("text_b"), list(record["probabilities"].values())))
    return results


def test_the_mark_is_text_for_a_model_of_single_texts_in_every_way(trained, classify, tmp_path):
    text = "the dog sees a cat and a small dog ||| a cat sees the big dog ||| a cat"
    results = in_every_way(classify, trained, text, tmp_path)
    assert [result[:2] for result in results] == [(text, None)] * 5
    assert all(results[-1] == result for result in results)
    labels = Classifier.load(str(trained), precision="float32").records([text])[0]
    assert list(labels["probabilities"].values()) == results[0][2]


def test_the_mark_is_a_pair_for_a_model_of_pairs_in_every_way(has_text_pairs, classify, tmp_path):
    results = in_every_way(
        classify, has_text_pairs, "the dog sees a cat and a small dog ||| a cat sees the big dog ||| a cat", tmp_path
    )
    assert [result[:2] for result in results] == [
        ("the dog sees a cat and a small dog ||| a cat sees the big dog", "a cat")
    ] * 5
    assert all(results[-1] == result for result in results)
    path = tmp_path / "new.txt"
    path.write_text("a dog ||| a cat\na dog\n", encoding="utf-8")
    flags = [f"--output_dir={has_text_pairs}", "--do_predict", f"--predict_file={path}"]
    classify(*flags).assert_refused(f"{path}:2: one text, and the model was trained on pairs")
    # In a table with columns, they make the pairs.
    path = tmp_path / "new.csv"
    path.write_text("sentence1,sentence2\na ||| dog,a cat\n", encoding="utf-8")
    assert predicted(classify, has_text_pairs, path)[0][:2] == ("a ||| dog", "a cat")


@pytest.mark.parametrize(
    ("name", "content", "flags"),
    [
        ("new.csv", 'id,text,label\n7,"a dog , a cat",1\n8,a horse,0\n', []),
        ("new.TSV", "remark\tx\na dog , a cat\t1\na horse\t0\n", ["--text_column=remark"]),
        ("new.tsv", "a dog , a cat\na horse\n", []),
        ("new.jsonl", '{"text": "a dog , a cat"}\n{"text": "a horse"}\n', []),
        ("part-*.csv", 'text\n"a dog , a cat"\na horse\n', []),
    ],
)
def test_a_table_is_read_as_a_table(name, content, flags, trained, classify, tmp_path):
    (tmp_path / "in.txt").write_text("a dog , a cat\na horse\n", encoding="utf-8")
    expected = classify(f"--output_dir={trained}", f"--input_file={tmp_path / 'in.txt'}", *FLAGS).out
    (tmp_path / name.replace("*", "1")).write_text(content, encoding="utf-8")
    arguments = [f"--output_dir={trained}", f"--input_file={tmp_path / name}", *FLAGS, *flags]
    if "*" not in name:
        assert classify(*arguments).out == expected
    outcome = classify(*arguments, f"--output_file={tmp_path / 'out'}")
    assert outcome.code == 0, outcome.err
    (written,) = [path for path in tmp_path.glob("out*") if path.suffix != ".json"]
    assert written.read_text("utf-8") == expected


def test_a_table_in_doubt(trained, classify, tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("remark,other\na dog,a cat\n", encoding="utf-8")
    classify(f"--output_dir={trained}", f"--input_file={path}").assert_refused(f"{path}:1: ")
    path.touch()
    path.write_text("", encoding="utf-8")
    classify(f"--output_dir={trained}", f"--input_file={path}").assert_refused(f"{path}: ")


def test_an_empty_file(trained, classify, tmp_path):
    (tmp_path / "empty.txt").touch()
    flags = [f"--input_file={tmp_path / 'empty.txt'}", f"--output_file={tmp_path / 'out.jsonl'}"]
    classify(f"--output_dir={trained}", *flags).assert_refused("empty.txt: ")
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(("name", "encoding"), [("in.txt", "latin-1"), ("in.csv", "utf-16"), ("in.tsv", "cp1252")])
def test_encoding_of_the_file(name, encoding, trained, classify, tmp_path):
    (tmp_path / "wanted.txt").write_text("a café\n", encoding="utf-8")
    expected = classify(f"--output_dir={trained}", f"--input_file={tmp_path / 'wanted.txt'}", *FLAGS).out
    (tmp_path / name).write_bytes("a café\n".encode(encoding))
    flags = [f"--output_dir={trained}", f"--input_file={tmp_path / name}", *FLAGS]
    assert classify(*flags, f"--encoding={encoding}").out == expected
    classify(*flags).assert_refused(f"{name}:1: is ", "--encoding=")


@pytest.mark.parametrize(("line", "fragment"), [(b"caf\xe9", "in.txt:2: "), (b"a\0b", "in.txt:2: ")])
def test_invalid_line_leaves_no_file(line, fragment, trained, classify, tmp_path):
    (tmp_path / "in.txt").write_bytes(b"a dog\n" + line + b"\n")
    flags = [f"--input_file={tmp_path / 'in.txt'}", f"--output_file={tmp_path / 'out.jsonl'}"]
    classify(f"--output_dir={trained}", *flags).assert_refused(fragment)
    assert not (tmp_path / "out.jsonl").exists()


def test_lost_labels_file(trained, classify):
    (trained / "labels.txt").unlink()
    message = f"{trained / 'labels.txt'}: is not the list of labels that the model was trained with"
    classify(f"--output_dir={trained}", "--text=a dog").assert_refused(message)


@pytest.mark.parametrize(
    ("flags", "counts"),
    [
        (["--text", "dog " * 20], "1 of 1 texts were cut to 8 tokens: 14 of 20 tokens (70.0%) were left out"),
        (["--explain", "dog " * 8], "1 of 1 texts were cut to 8 tokens: 2 of 8 tokens (25.0%) were left out"),
        (["--text=a dog"], None),
        (["--text", "dog " * 20, "--long_text=windows"], None),
    ],
)
def test_a_text_that_is_cut_is_reported_once(flags, counts, trained, classify):
    outcome = classify(f"--output_dir={trained}", "--max_seq_length=8", *flags, *FLAGS)
    assert outcome.code == 0, outcome.err
    lines = [line for line in outcome.err.splitlines() if "were cut" in line]
    flag = flags[0].partition("=")[0]
    assert lines == ([f"{flag}: warning: {counts}"] if counts else [])


@pytest.mark.parametrize(
    ("name", "text"), [("in.txt", "a\n{long}\n\n{long}\n"), ("in.csv", "text\na\n{long}\n,\n{long}\n")]
)
def test_cuts_of_all_lines_of_a_file_are_reported_once(name, text, trained, classify, tmp_path, monkeypatch):
    monkeypatch.setattr(interactive, "CHUNK", 1)
    path = tmp_path / name
    path.write_text(text.format(long="dog " * 9).replace("\n,\n", '\n""\n'), encoding="utf-8")
    outcome = classify(f"--output_dir={trained}", "--max_seq_length=8", f"--input_file={path}", *FLAGS)
    assert outcome.code == 0, outcome.err
    lines = [line for line in outcome.err.splitlines() if "were cut" in line]
    counts = "2 of 4 texts were cut to 8 tokens: 6 of 19 tokens (31.6%) were left out"
    assert lines == [f"{path}: warning: {counts}"]


def test_a_flag_of_a_newer_version_is_named(trained, classify):
    flags = trained / "flags.txt"
    flags.write_text(f"{flags.read_text('utf-8')}--quantum_mode=yes\n", encoding="utf-8")
    outcome = classify(f"--output_dir={trained}", "--text=a dog")
    assert (outcome.code, outcome.err.count("--quantum_mode of bert_cli ")) == (0, 1)
