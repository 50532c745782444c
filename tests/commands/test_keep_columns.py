"""--keep_columns: columns of the file to predict in the predictions."""

import csv
import json

import pytest

TEXTS = ("a dog sees a cat .", "the farmer buys bread .")
PROBABILITIES = ["prob_0", "prob_1"]


def predict(classify, model, path, *flags):
    outcome = classify("--do_predict", f"--output_dir={model}", f"--predict_file={path}", "--precision=float32", *flags)
    assert outcome.code == 0, outcome.err
    return outcome


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t" if ".tsv" in path.name else ","))


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text(f'user,id,text,label,"a, b"\nAnna,7,{TEXTS[0]},x,"1,5"\nTom,8,{TEXTS[1]},,\n', encoding="utf-8")
    return path


@pytest.mark.parametrize("output_format", ["tsv", "csv"])
def test_all_columns_in_file_order(output_format, classify, trained, table):
    outcome = predict(classify, trained, table, "--keep_columns=all", f"--output_format={output_format}")
    rows = read(trained / f"predictions.{output_format}")
    names = ["id", "label", *PROBABILITIES, "text", "user", "input_label", "a, b"]
    assert list(rows[0]) == names
    kept = [[row[name] for name in ("id", "text", "user", "input_label", "a, b")] for row in rows]
    assert kept == [["7", TEXTS[0], "Anna", "x", "1,5"], ["8", TEXTS[1], "Tom", "", ""]]
    assert {row["label"] for row in rows} <= {"0", "1"}
    assert "columns of the file are written under other names: label as input_label" in outcome.err
    assert "2 rows: text from 'text', id from 'id', copies from 'user', 'label', 'a, b'\n" in outcome.err
    # Without the flag, the table is as before.
    predict(classify, trained, table, f"--output_format={output_format}")
    assert [list(row.items()) for row in read(trained / f"predictions.{output_format}")] == [
        list(row.items())[:5] for row in rows
    ]


def test_some_columns_in_the_flags_order(classify, trained, table):
    outcome = predict(classify, trained, table, '--keep_columns="a, b",0', "--output_format=csv")
    # Predictions read no labels, and say so.
    assert "copies from 'a, b', 'user'; not used: label\n" in outcome.err
    rows = read(trained / "predictions.csv")
    assert list(rows[0])[-2:] == ["a, b", "user"]
    assert [(row["a, b"], row["user"]) for row in rows] == [("1,5", "Anna"), ("", "Tom")]


def test_json_lines_with_lists_and_members(classify, trained, tmp_path):
    path = tmp_path / "new.jsonl"
    records = [
        {"body": text, "tags": ["x", "y"], "meta": {"url": f"u{number}"}, "prob_0": 3}
        for number, text in enumerate(TEXTS)
    ]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    flags = ["--keep_columns=tags,meta.url,prob_0,body", "--text_column=body"]
    predict(classify, trained, path, *flags, "--output_format=jsonl")
    lines = (trained / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    assert [list(json.loads(line).items())[4:] for line in lines] == [
        [("tags", ["x", "y"]), ("meta.url", f"u{number}"), ("input_prob_0", "3"), ("body", text)]
        for number, text in enumerate(TEXTS)
    ]


def test_columns_without_names(classify, trained, tmp_path):
    path = tmp_path / "new.tsv"
    path.write_text("".join(f"x{number}\t{text}\n" for number, text in enumerate(TEXTS)), encoding="utf-8")
    predict(classify, trained, path, "--keep_columns=all", "--text_column=1", "--predict_header=no")
    assert [(row["0"], row["1"]) for row in read(trained / "predictions.tsv")] == [("x0", TEXTS[0]), ("x1", TEXTS[1])]


def test_several_files(classify, trained, tmp_path):
    for number, text in enumerate(TEXTS):
        (tmp_path / f"part-{number}.csv").write_text(f"user,text\nu{number},{text}\n", encoding="utf-8")
    predict(classify, trained, tmp_path / "part-*.csv", "--keep_columns=user")
    files = sorted(trained.glob("predictions.tsv-*"))
    assert [[row["user"] for row in read(path)] for path in files] == [["u0"], ["u1"]]


@pytest.mark.parametrize(
    ("flags", "fragment"),
    [
        (["--keep_columns=user,nobody"], "new.csv:1: --keep_columns=nobody"),
        (["--keep_columns=user,user"], "--keep_columns=user,user"),
        (["--keep_columns=9"], "--keep_columns=9"),
    ],
)
def test_missing_columns_are_refused(flags, fragment, classify, trained, table):
    arguments = ["--do_predict", f"--output_dir={trained}", f"--predict_file={table}"]
    classify(*arguments, *flags).assert_refused(fragment)


def test_a_file_in_a_tasks_layout_is_refused(classify, trained, cola):
    arguments = ["--do_predict", f"--output_dir={trained}", "--keep_columns=all"]
    classify(*arguments, f"--data_dir={cola}").assert_refused("--keep_columns: ")
    classify(*arguments, f"--predict_file={cola / 'dev.tsv'}").assert_refused("dev.tsv is read in the layout")
