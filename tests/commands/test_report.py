"""report.html, bert-report and bert-classify --explain, on runs of the real commands."""

import functools
import json
import sys

import numpy_bert
import pytest

import bert_cli
from bert_cli import Classifier
from bert_cli.report_runs import main
from tests.commands import helpers
from tests.report.test_page import Reader
from tests.snapshots import check_message

FLAGS = ("--precision=float32",)


@pytest.fixture
def report(capfd):
    return functools.partial(helpers.call, capfd, "bert-report", main)


def page_of(folder):
    return (folder / "report.html").read_text("utf-8")


def test_run_writes_its_page(trained, run_folder):
    reader = Reader(page_of(trained))
    expected = {
        "card-loss",
        "card-rate",
        "card-matrix",
        "card-calibration",
        "card-words",
        "card-lengths",
        "card-commands",
    }
    assert expected <= set(reader.ids)
    assert "script" not in reader.tags
    told = run_folder(trained).report()
    assert told["versions"].keys() == {"bert_cli", "tensorflow", "keras", "numpy", "python"}
    assert told["peak_memory_bytes"] > 100_000_000
    assert told["lengths"]["train"]["rows"] == 24
    assert {"report.html", "eval_examples.jsonl", "history.jsonl"} <= set(
        json.loads((trained / "run.json").read_text())["files"]
    )
    rows = [json.loads(line) for line in (trained / "eval_examples.jsonl").read_text("utf-8").splitlines()]
    assert rows[0] == {"kind": "single_label", "labels": ["0", "1"], "rows": 11}
    explained = [row["explanation"] for row in rows[1:] if "explanation" in row]
    assert len(explained) == 6
    for explanation in explained:
        assert sum(word["share"] for word in explanation["words"]) == pytest.approx(
            explanation["score"] - explanation["masked_score"], abs=1e-3
        )


def test_final_loss_is_one_number_in_history_report_and_page(trained, run_folder):
    lines = [json.loads(line) for line in (trained / "history.jsonl").read_text("utf-8").splitlines()]
    losses = [line["loss"] for line in lines if "loss" in line]
    final = run_folder(trained).report()["last_loss"]
    assert final == losses[-1]
    assert f"Final loss: {final:.4f}" in page_of(trained)


@pytest.mark.slow
def test_tagger_writes_its_page(tagger):
    assert {"card-types", "card-sentences", "card-lengths"} <= set(Reader(page_of(tagger)).ids)


def test_bert_report_makes_the_same_page(trained, report, snapshot):
    assert report(trained).code == 0  # the directory is a copy with another name
    expected, before = page_of(trained), snapshot(trained)
    (trained / "report.html").unlink()
    outcome = report(trained)
    assert outcome.code == 0, outcome.err
    assert outcome.last_line == f"wrote {trained / 'report.html'}"
    assert page_of(trained) == expected
    after = snapshot(trained)
    assert all(after[name] == before[name] for name in before if name not in (".", "report.html"))


def test_several_runs(trained, trained_once, report, tmp_path):
    page = tmp_path / "both.html"
    outcome = report(trained, trained_once[0], f"--output_file={page}")
    assert outcome.code == 0, outcome.err
    assert {"card-compared", "card-differences", "card-significance"} <= set(Reader(page.read_text("utf-8")).ids)
    check_message(outcome.err, "right rows")
    compared = bert_cli.compare(Classifier.load(trained), trained_once[0])
    assert (compared.num_rows, compared.mcnemar.p_value) == (11, 1)
    # Our page is replaced.
    assert report(trained, trained_once[0], f"--output_file={page}").code == 0
    (tmp_path / "mine.html").write_text("mine", encoding="utf-8")
    report(trained, f"--output_file={tmp_path / 'mine.html'}").assert_refused("mine.html")
    inside = trained / "flags.txt"
    report(trained, f"--output_file={inside}").assert_refused()
    report(trained, trained).assert_refused("named twice")
    report(tmp_path).assert_refused()


def test_a_page_of_somebody_else_is_left_alone(trained, report, tmp_path):
    """A run from before pages existed does not own one."""
    for name in ("run.json", "run_report.json"):
        values = json.loads((trained / name).read_text("utf-8"))
        values["files"] = [file_name for file_name in values.get("files", []) if file_name != "report.html"]
        (trained / name).write_text(json.dumps(values), encoding="utf-8")
    (trained / "report.html").write_text("mine", encoding="utf-8")
    report(trained).assert_refused()
    assert page_of(trained) == "mine"
    (trained / "report.html").unlink()
    assert report(trained).code == 0
    assert report(trained).code == 0  # now it is listed
    assert "report.html" in json.loads((trained / "run_report.json").read_text("utf-8"))["files"]


def test_run_succeeds_if_its_page_fails(trained, trained_flags, classify, run_folder):
    """A damaged history does not stop the evaluation; one line explains the missing page."""
    (trained / "history.jsonl").write_text("no JSON\n", encoding="utf-8")
    before = page_of(trained)
    (trained / "eval_results.txt").unlink()
    flags = [flag for flag in trained_flags if flag not in ("--do_train", "--do_predict")]
    outcome = classify(*flags, "--report", "--engine=onnxruntime", f"--output_dir={trained}")
    assert outcome.code == 0, outcome.err
    assert run_folder(trained).eval_results()["eval_examples"] == 11
    (line,) = [line for line in outcome.lines if "was not written" in line]
    assert line.startswith("warning: ")
    check_message(line, "history.jsonl:1: ")
    assert f"`bert-report {trained}`" in line
    assert page_of(trained) == before


def test_missing_matplotlib_is_logged(trained, trained_flags, classify, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as if it were not installed
    flags = [flag for flag in trained_flags if flag not in ("--do_train", "--do_predict")]
    outcome = classify(*flags, "--report", "--engine=onnxruntime", f"--output_dir={trained}")
    assert outcome.code == 0, outcome.err
    warning, done, following = outcome.lines[-3:]
    check_message(warning)
    assert "matplotlib" in warning
    assert done.startswith("done in ")
    assert following.startswith("next: ")


def test_run_ends_with_a_summary(trained, trained_flags, classify):
    flags = [flag for flag in trained_flags if flag not in ("--do_train", "--do_predict")]
    outcome = classify(*flags, "--report", "--engine=onnxruntime", f"--output_dir={trained}")
    assert outcome.code == 0, outcome.err
    done, wrote, following = outcome.lines[-3:]
    assert done.startswith("done in ")
    assert "Matthews' correlation" in done
    assert "at step 30" in done
    assert wrote == f"wrote {trained / 'report.html'}, a page to look at"
    assert following.startswith(f"next: bert-classify --output_dir={trained} --text")


def logits(folder, config, token_ids, segment_ids, run_folder):
    weights = run_folder(folder).tensors(30)
    encoded = numpy_bert.forward(config, weights, [token_ids], [[1] * len(token_ids)], [segment_ids])
    return (encoded["pooled_output"] @ weights["output_weights"].T + weights["output_bias"])[0]


def test_word_contributions_are_logit_differences(trained, classify, run_folder, snapshot):
    (trained / "flags.txt").unlink()  # it records that the model was trained on single texts
    before = snapshot(trained)
    pair = ["--explain=The old farmer buys bread .", "--text_b=a cat", "--max_seq_length=16"]
    outcome = classify(f"--output_dir={trained}", *pair, *FLAGS)
    assert outcome.code == 0, outcome.err
    record = json.loads(outcome.out)
    assert [word["word"] for word in record["words"]] == ["The", "old", "farmer", "buys", "bread", ".", "a", "cat"]
    assert [word.get("text_b", False) for word in record["words"]] == [False] * 6 + [True] * 2
    assert "[MASK]" in record["method"]
    lines = (trained / "vocab.txt").read_text("utf-8").splitlines()
    # "a" is in it twice, and the last one counts.
    numbers = {piece: number for number, piece in enumerate(lines)}
    pieces = ["[CLS]", "the", "old", "farmer", "buys", "bread", ".", "[SEP]", "a", "cat", "[SEP]"]
    masked = [piece if piece in ("[CLS]", "[SEP]") else "[MASK]" for piece in pieces]
    config = json.loads((trained / "bert_config.json").read_text("utf-8"))
    margins = []
    for row in (pieces, masked):
        row_logits = logits(trained, config, [numbers[piece] for piece in row], [0] * 8 + [1] * 3, run_folder)
        predicted_index = int(record["label"])
        margins.append(row_logits[predicted_index] - row_logits[1 - predicted_index])
    assert record["score"] == pytest.approx(margins[0], abs=1e-3)
    assert record["masked_score"] == pytest.approx(margins[1], abs=1e-3)
    assert sum(word["share"] for word in record["words"]) == pytest.approx(margins[0] - margins[1], abs=2e-3)
    assert snapshot(trained) == before


def test_explain_uses_the_text_flag(trained, classify):
    text_flags = [f"--output_dir={trained}", *FLAGS]
    whole = classify(*text_flags, "--explain=a dog")
    assert whole.code == 0, whole.err
    assert json.loads(whole.out)["text"] == "a dog"
    for flags in (["--text", "a dog", "--explain"], ["--explain", "--text=a dog"]):
        assert classify(*text_flags, *flags).out == whole.out


def test_noreport(trained, trained_flags, classify, run_folder):
    """--noreport writes neither the page nor its rows, and removes those of an earlier evaluation."""
    flags = [flag for flag in trained_flags if flag not in ("--do_train", "--do_predict")]
    outcome = classify(*flags, "--noreport", f"--output_dir={trained}")
    assert outcome.code == 0, outcome.err
    assert not {"report.html", "eval_examples.jsonl"} & run_folder(trained).names()
    assert [line.split()[0] for line in outcome.lines[-2:]] == ["done", "next:"]
