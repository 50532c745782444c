"""bert-classify on a user's files: training, evaluation and prediction without changes, with ids."""

import csv
import gzip
import json

import pandas as pd
import pytest

from bert_cli.flags.option import build
from bert_cli.flags.parser import parse
from bert_cli.flags.saved import flags_to_save, write_flags
from bert_cli.opening.trained import has_text_pairs
from bert_cli.run_classifier import main
from bert_cli.settings.classification import ClassifySettings
from tests.commands.conftest import SENTENCES
from tests.commands.helpers import words
from tests.snapshots import check_message


def write_reviews(path, rows=SENTENCES, names=("review_id", "stars", "text", "useful")):
    """Write a CSV in Yelp's format, with line ends inside texts."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        for number, (text, of_people) in enumerate(rows):
            writer.writerow([f"r-{number}", "10" if of_people else "2", text.replace(" and ", "\nand "), "0"])
    return path


def saved_flags(folder):
    return dict(
        line.removeprefix("--").split("=", 1)
        for line in (folder / "flags.txt").read_text("utf-8").splitlines()
        if line.startswith("--")
    )


def read_predictions(folder):
    with open(folder / "predictions.tsv", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


# Unlike TensorFlow, onnxruntime traces no graph in each run.
PREDICT = ("--do_predict", "--engine=onnxruntime")


@pytest.fixture
def reviews(tmp_path):
    return write_reviews(tmp_path / "reviews.csv")


def test_a_csv_is_trained_evaluated_and_predicted(classify, model_flags, reviews, tmp_path):
    out = tmp_path / "out"
    training_values = {"train_file": reviews, "dev_split": 0.25, "test_file": reviews, "output_dir": out}
    training_values["num_train_epochs"] = 1
    done = classify(*model_flags, *words(training_values), "--do_train", "--do_eval", "--do_predict")
    assert done.code == 0, done.err
    check_message(done.err, f"{reviews}: ")
    assert "train: 18 examples; labels: 2 9 (50.0%), 10 9 (50.0%)" in done.err
    assert "dev: 6 examples; labels: 2 3 (50.0%), 10 3 (50.0%)" in done.err
    assert (out / "labels.txt").read_text("utf-8") == "2\n10\n"
    facts = json.loads((out / "run_report.json").read_text("utf-8"))["data_facts"]
    assert facts["train"] == {
        "file": str(reviews),
        "rows": 24,
        "columns": {"text": ["text"], "label": ["stars"], "id": ["review_id"]},
        "not_used": ["useful"],
        "left_out": [],
    }
    assert list(facts) == ["train", "test"]
    rows = read_predictions(out)
    assert [row["id"] for row in rows] == [f"r-{number}" for number in range(24)]
    assert rows[0]["text"] == SENTENCES[0][0]
    dev_flags = {"problem_type": "single_label", "dev_split": "0.25"}
    saved = saved_flags(out)
    assert dev_flags.items() <= saved.items()
    assert not {"task_name", "text_column", "label_column"} & saved.keys()
    lines = (out / "flags.txt").read_text("utf-8").splitlines()
    assert lines[-2:] == ["# found in the data: --text_column=text", "# found in the data: --label_column=stars"]

    # With the directory alone, the same rows are held out, and a list of texts is predicted.
    first = (out / "eval_results.txt").read_text("utf-8")
    done = classify("--do_eval", "--noreport", f"--output_dir={out}", "--precision=float32")
    assert done.code == 0, done.err
    assert "dev: 6 examples" in done.err
    assert (out / "eval_results.txt").read_text("utf-8") == first
    (tmp_path / "new.txt").write_text("a dog sees a cat .\n\nthe farmer buys bread .\n", encoding="utf-8")
    done = classify(*PREDICT, f"--predict_file={tmp_path / 'new.txt'}", f"--output_dir={out}")
    assert done.code == 0, done.err
    assert [(row["id"], row["text"]) for row in read_predictions(out)] == [
        ("test-0", "a dog sees a cat ."),
        ("test-1", "the farmer buys bread ."),
    ]

    # The training file's columns were detected, so another file's columns are detected again.
    (tmp_path / "new.csv").write_text('id,review\n7,"a dog , a cat"\n', encoding="utf-8")
    done = classify(*PREDICT, f"--predict_file={tmp_path / 'new.csv'}", f"--output_dir={out}")
    assert done.code == 0, done.err
    assert [(row["id"], row["text"]) for row in read_predictions(out)] == [("7", "a dog , a cat")]

    # The training file's header does not determine whether another file has one.
    flags = (out / "flags.txt").read_text("utf-8")
    (out / "flags.txt").write_text(flags.replace("--header=auto", "--header=no"), encoding="utf-8")
    (tmp_path / "new.tsv").write_text("text\na dog sees a cat .\n", encoding="utf-8")
    done = classify(*PREDICT, f"--predict_file={tmp_path / 'new.tsv'}", f"--output_dir={out}")
    assert done.code == 0, done.err
    assert [row["text"] for row in read_predictions(out)] == ["a dog sees a cat ."]


def test_quoting_csv_is_remembered(classify, model_flags, tmp_path):
    """Tab-separated files written by pandas: texts with quotes, tabs and line ends."""
    texts = [f'"{text}" and\nmore\ttext' if of_people else text for text, of_people in SENTENCES]
    train, new, out = tmp_path / "train.tsv", tmp_path / "new.tsv", tmp_path / "out"
    pd.DataFrame({"text": texts, "label": [str(label) for _, label in SENTENCES]}).to_csv(train, sep="\t", index=False)
    pd.DataFrame({"text": texts[:4]}).to_csv(new, sep="\t", index=False)
    flags = [*model_flags, *words({"train_file": train, "output_dir": out, "num_train_epochs": 0.2}), "--do_train"]
    done = classify(*flags)
    assert done.code == 1
    check_message(done.err, f"{train}:2: ")
    done = classify(*flags, "--quoting=csv")
    assert done.code == 0, done.err
    assert "in CSV quotes" not in done.err
    assert saved_flags(out)["quoting"] == "csv"
    done = classify(*PREDICT, f"--predict_file={new}", f"--output_dir={out}")
    assert done.code == 0, done.err
    assert [row["id"] for row in read_predictions(out)] == [f"test-{number}" for number in range(4)]
    done = classify("--do_predict", f"--predict_file={new}", f"--output_dir={out}", "--quoting=none")
    assert (done.code, "--quoting=csv" in done.last_line) == (1, True)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [([], "auto"), (["--header=no"], "no"), (["--header=no", "--predict_header=yes"], "yes")],
)
def test_predict_header(flags, expected):
    values, named = parse(ClassifySettings, ["--do_train", "--task_name=cola", "--predict_file=new.tsv", *flags])
    assert main.checked(build(ClassifySettings, values), named).data.predict_header == expected


def test_message_names_the_training_run_as_source_of_a_column(classify, trained, tmp_path):
    flags = (trained / "flags.txt").read_text("utf-8").replace("--task_name=cola\n", "--text_column=body\n")
    (trained / "flags.txt").write_text(flags, encoding="utf-8")
    (tmp_path / "new.csv").write_text("id,text\n7,a dog\n", encoding="utf-8")
    predict_flags = ["--do_predict", f"--predict_file={tmp_path / 'new.csv'}", f"--output_dir={trained}"]
    classify(*predict_flags).assert_refused(f"{tmp_path / 'new.csv'}:1: ")


def test_flags_txt_repeats_a_run_with_a_dev_file(tmp_path):
    training_flags = ["--do_train", "--do_eval", "--train_file=a.csv", "--dev_file=b.csv"]
    values, named = parse(ClassifySettings, training_flags)
    flags = flags_to_save(main.checked(build(ClassifySettings, values), named), {})
    assert flags["dev_split"] == "0.0"
    write_flags(str(tmp_path / "flags.txt"), flags)
    values, named = parse(ClassifySettings, [f"--flagfile={tmp_path / 'flags.txt'}", "--output_dir=another"])
    assert main.checked(build(ClassifySettings, values), named).data.dev_file.endswith("b.csv")


@pytest.mark.slow
def test_json_lines_and_gzip(classify, model_flags, tmp_path):
    def lines(rows, **more):
        return "".join(
            json.dumps({"sentence1": a, "sentence2": b, "label": "same" if a == b else "other"} | more) + "\n"
            for a, b in rows
        )

    pairs = [(SENTENCES[n][0], SENTENCES[n - n % 2][0]) for n in range(12)]
    (tmp_path / "train.jsonl.gz").write_bytes(gzip.compress(lines(pairs).encode()))
    (tmp_path / "dev.jsonl").write_text(lines(pairs[:4], note="an extra key"), encoding="utf-8")
    out = tmp_path / "out"
    flags = {"train_file": tmp_path / "train.jsonl.gz", "dev_file": tmp_path / "dev.jsonl", "output_dir": out}
    done = classify(*model_flags, *words(flags), "--num_train_epochs=1", "--do_train", "--do_eval")
    assert done.code == 0, done.err
    assert "# found in the data: --text_b_column=sentence2\n" in (out / "flags.txt").read_text("utf-8")
    check_message(done.err, "dev: ")


def test_predict_file_for_a_task_model(classify, trained, tmp_path):
    (tmp_path / "new.csv").write_text('id,text\n7,"a dog , a cat"\n', encoding="utf-8")
    done = classify(*PREDICT, f"--predict_file={tmp_path / 'new.csv'}", f"--output_dir={trained}")
    assert done.code == 0, done.err
    assert [(row["id"], row["text"]) for row in read_predictions(trained)] == [("7", "a dog , a cat")]
    # A test file that is not a TSV is read in the same way.
    done = classify(*PREDICT, f"--test_file={tmp_path / 'new.csv'}", f"--output_dir={trained}", "--text_column=text")
    assert done.code == 0, done.err
    assert [(row["id"], row["text"]) for row in read_predictions(trained)] == [("7", "a dog , a cat")]


def test_predict_file_in_the_layout_of_the_task(classify, trained, cola, mrpc):
    def predicted(path, *flags):
        done = classify(*PREDICT, f"--predict_file={path}", f"--output_dir={trained}", *flags)
        assert done.code == 0, done.err
        return [(row["id"], row["text"], row.get("text_b")) for row in read_predictions(trained)]

    dev = cola / "dev.tsv"
    # Labels are ignored, so an unknown one below the first rows does no harm.
    dev.write_text(dev.read_text("utf-8") * 100 + "s99\t7\t\ta cat .\n", encoding="utf-8")
    predicted_rows = predicted(dev)
    assert len(predicted_rows) == 1101
    assert (predicted_rows[0][0], predicted_rows[-1][:2]) == ("s05", ("s99", "a cat ."))
    # A column flag takes precedence.
    assert predicted(cola / "train.tsv", "--text_column=3", "--predict_header=no")[0][0] == "test-0"
    flags = (trained / "flags.txt").read_text("utf-8").replace("--task_name=cola", "--task_name=mrpc")
    (trained / "flags.txt").write_text(flags, encoding="utf-8")
    rows = [line.split("\t") for line in (mrpc / "dev.tsv").read_text("utf-8").splitlines()[1:]]
    assert predicted(mrpc / "dev.tsv") == [(row[1], row[3], row[4]) for row in rows]
    assert [row[0] for row in predicted(mrpc / "test.tsv")] == [str(number) for number in range(9)]


def test_ids_in_a_task_file_are_kept(classify, trained, tmp_path):
    test = tmp_path / "test.tsv"
    test.write_text("id\tsentence\tkey\nx7\ta dog .\tk7\nx8\ta cat .\tk8\n", encoding="utf-8")
    for flags, ids in ([], ["x7", "x8"]), (["--id_column=id"], ["x7", "x8"]), (["--id_column=2"], ["k7", "k8"]):
        done = classify(*PREDICT, f"--test_file={test}", f"--output_dir={trained}", *flags)
        assert done.code == 0, done.err
        assert [row["id"] for row in read_predictions(trained)] == ids
    done = classify("--do_predict", f"--test_file={test}", f"--output_dir={trained}", "--id_column=no")
    done.assert_refused(f"{test}:1: ")
    done = classify("--do_predict", f"--test_file={test}", f"--output_dir={trained}", "--text_column=sentence")
    done.assert_refused("--text_column: ")


@pytest.mark.slow
def test_task_file_in_another_directory(classify, flags, cola, tmp_path):
    moved = tmp_path / "other.tsv"
    moved.write_bytes((cola / "train.tsv").read_bytes())
    (cola / "train.tsv").unlink()
    (cola / "dev.tsv").unlink()
    arguments = [
        f"--train_file={moved}",
        "--dev_split=0.25",
        f"--output_dir={tmp_path / 'out'}",
        "--num_train_epochs=1",
    ]
    done = classify(*flags, *arguments, "--do_train", "--do_eval")
    assert done.code == 0, done.err
    assert "train: 18 examples" in done.err
    assert "dev: 6 examples" in done.err


@pytest.mark.parametrize(
    ("flags_given", "fragments"),
    [
        (["--do_train", "--dev_split=0.5"], ["--task_name is needed", "--train_file"]),
        (["--do_train", "--train_file={folder}/no.csv"], ["no.csv: "]),
        (["--do_train", "--do_eval", "--train_file={reviews}"], ["--dev_file"]),
        (["--do_train", "--do_predict", "--train_file={reviews}"], ["--test_file"]),
        (["--do_train", "--train_file={reviews}", "--text_column=txt"], ["reviews.csv:1: "]),
        (["--do_train", "--train_file={reviews}", "--label_column=useful"], ["'0'"]),
        (["--do_train", "--train_file={folder}/scores.tsv"], ["scores.tsv:2:", "--problem_type=regression"]),
        (["--do_train", "--train_file={folder}/ragged.csv"], ["ragged.csv:3: "]),
    ],
)
def test_refused(refused, model_flags, reviews, tmp_path, flags_given, fragments):
    (tmp_path / "scores.tsv").write_text("text\tscore\na\t0.5\nb\t1\n", encoding="utf-8")
    (tmp_path / "ragged.csv").write_text("text,label\na,x\nb, c,y\n", encoding="utf-8")
    written = [flag.format(folder=tmp_path, reviews=reviews) for flag in flags_given]
    refused([*model_flags[:3], *written], *fragments)


def test_label_that_training_does_not_have(refused, model_flags, reviews, tmp_path):
    dev = write_reviews(tmp_path / "dev.csv", SENTENCES[:3])
    dev.write_text(dev.read_text("utf-8") + "r-9,5,a dog .,0\n", encoding="utf-8")
    line = dev.read_text("utf-8").count("\n")
    flags = [f"--train_file={reviews}", f"--dev_file={dev}", "--do_train", "--do_eval"]
    refused([*model_flags[:3], *flags], f"{dev}:{line}: ")


def test_has_pairs():
    assert [has_text_pairs({"task_name": name}) for name in ("cola", "sst-2", "mrpc", "qnli")] == [
        False,
        False,
        True,
        True,
    ]
    assert has_text_pairs({"text_column": "a", "text_b_column": "b"})
    assert not has_text_pairs({"text_column": "a"})
    assert not has_text_pairs({})
