"""bert-squad without training: later runs, odd texts, single questions, JSON lines, and scores."""

import io
import json
import pathlib
import sys

import pytest

from tests.commands.squad_run import call, read, story, write_data
from tests.rows import write_rows
from tests.snapshots import check_message


@pytest.fixture
def ask(capfd):
    """Call bert-squad with only these flags."""
    return lambda *tasks, **flags: call(capfd, tasks, flags)


@pytest.fixture
def trained(answering) -> pathlib.Path:
    return answering


def test_later_run_remembers_its_settings(ask, trained, tmp_path):
    """A 2.0 model also answers 1.1 questions; flags.txt has window lengths, casing and version."""
    questions = write_data(tmp_path / "dev.json", impossible=True)
    copy = tmp_path / "copy"
    outcome = ask("--do_predict", "--do_eval", predict_file=questions, output_dir=copy, init_checkpoint=trained)
    assert outcome.code == 0, outcome.err
    check_message(outcome.err, "24 questions")
    odds = read(copy / "null_odds.json")
    assert list(odds) == list(read(copy / "predictions.json"))
    lines = (copy / "eval_results.txt").read_text(encoding="utf-8")
    assert {"exact", "HasAns_f1", "NoAns_exact", "best_f1_thresh"} <= {
        line.split(" = ")[0] for line in lines.split("\n")
    }
    flags = {"predict_file": questions, "output_dir": copy, "init_checkpoint": trained}
    assert ask("--do_predict", "--version_2_with_negative=false", **flags).code == 0
    assert not (copy / "null_odds.json").exists()
    assert "" not in read(copy / "predictions.json").values()


def test_odd_texts_get_an_answer(ask, trained, tmp_path):
    """An empty context, one without word pieces, too long a question, and missing answers."""
    contexts = ["", " \n ", "\u0000\ufffd".replace("\0", ""), "dog", "the cat " * 60, "Ünïcödé 漢字 naïve\u3000x" * 3]
    paragraphs = [
        {"context": context, "qas": [{"id": str(n), "question": "the old cat sees " * 9, "answers": []}]}
        for n, context in enumerate(contexts)
    ]
    paragraphs[3]["qas"].append({"id": 7, "question": "", "answers": [{"text": "cow", "answer_start": 900}]})
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}), encoding="utf-8")
    for version_2 in ("true", "false"):
        flags = {"predict_file": path, "output_dir": tmp_path / version_2, "init_checkpoint": trained}
        flags["engine"] = "onnxruntime" if version_2 == "true" else "tensorflow"
        outcome = ask("--do_predict", version_2_with_negative=version_2, **flags)
        assert outcome.code == 0, outcome.err
        check_message(outcome.err, "3 question")
        assert "were cut to 8 tokens" in outcome.err
        predictions = read(tmp_path / version_2 / "predictions.json")
        assert list(predictions) == ["0", "1", "2", "3", "7", "4", "5"]
        assert {predictions[key] for key in "012"} == {"" if version_2 == "true" else "empty"}
    empty = tmp_path / "empty.json"
    empty.write_text(json.dumps({"data": [{"paragraphs": paragraphs[:1]}]}), encoding="utf-8")
    assert ask("--do_predict", predict_file=empty, output_dir=tmp_path / "e", init_checkpoint=trained).code == 0


def test_single_question(ask, trained, tmp_path):
    context = "It rains.\nThe old farmer sees a cat in the garden. My teacher likes a small dog."
    flags = {"init_checkpoint": trained, "question": "the farmer sees a ?", "version_2_with_negative": "false"}
    outcome = ask(context=context, **flags)
    assert outcome.code == 0, outcome.err
    first, sentence, blank, *entries = outcome.out.splitlines()
    assert first in context
    assert blank == ""
    assert sentence.startswith("  in: ")
    assert first in sentence
    assert sentence.removeprefix("  in: ") in context
    probabilities = [float(line.split()[0]) for line in entries]
    assert entries[0].split(maxsplit=1)[1] == first
    assert probabilities == sorted(probabilities, reverse=True)
    assert 0.9 < sum(probabilities) < 1.001
    path = tmp_path / "context.txt"
    path.write_text(context, encoding="utf-8")
    assert ask(context_file=path, **flags).out == outcome.out
    odds = {"version_2_with_negative": "true", "null_score_diff_threshold": -1000}
    assert ask(context=context, **flags | odds).out.startswith("(no answer)\n\n")
    path.write_text(" \n", encoding="utf-8")
    assert ask(context_file=path, **flags).out == "(no answer: nothing in the context can be one)\n"


def test_json_lines(ask, trained, tmp_path, monkeypatch):
    lines = [{"id": f"q{n}", "question": next(iter(story(n)[1])), "context": story(n)[0]} for n in range(4)]
    lines.append({"question": "who", "context": ""})
    text = "\ufeff" + "\n\n".join(json.dumps(line) for line in lines) + "\n"
    path = tmp_path / "questions.jsonl"
    path.write_text(text, encoding="utf-8")
    flags = {"init_checkpoint": trained, "version_2_with_negative": "false"}
    assert ask(input_file=path, output_file=tmp_path / "answers.jsonl", **flags).code == 0
    answers = (tmp_path / "answers.jsonl").read_text(encoding="utf-8")
    records = [json.loads(line) for line in answers.splitlines()]
    assert [record["id"] for record in records] == ["q0", "q1", "q2", "q3", "9"]
    for number, record in enumerate(records[:4]):
        context = story(number)[0]
        assert context[record["start"] : record["end"]] == record["answer"] == record["nbest"][0]["text"]
        assert record["answer"] in record["sentence"]
        assert record["sentence"] in context
        assert record["probability"] == record["nbest"][0]["probability"]
    assert records[4] == {"id": "9", "question": "who", "answer": "", "probability": None} | dict.fromkeys(
        ("start", "end", "sentence")
    ) | {"nbest": []}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert ask(input_file="-", **flags).out == answers


def test_questions_that_are_cut_are_reported_once(ask, trained, tmp_path):
    flags = {"init_checkpoint": trained}
    counts = "1 of 1 questions were cut to 8 tokens: 4 of 12 tokens (33.3%) were left out"
    assert f"--question: warning: {counts}" in ask(question="cat dog " * 6, context="a dog", **flags).err
    path = tmp_path / "questions.jsonl"
    lines = [{"question": question, "context": "a dog " * 99} for question in ("the dog", "cat dog " * 6)]
    write_rows(path, lines)
    outcome = ask(input_file=path, **flags)
    counts = "1 of 2 questions were cut to 8 tokens: 4 of 14 tokens (28.6%) were left out"
    advice = "a larger --max_query_length keeps them"
    assert [line for line in outcome.err.splitlines() if "were cut" in line] == [f"{path}: warning: {counts}; {advice}"]


def test_scores_of_a_strong_model(ask, shared, tmp_path):
    files = {"predict_file": "dev-v1.1.json", "predictions_file": "predictions-of-a-strong-model.json"}
    flags = {name: shared / "data" / "squad" / file for name, file in files.items()}
    outcome = ask("--score_only", output_dir=tmp_path / "scores", **flags)
    assert outcome.code == 0, outcome.err
    scores = json.loads(outcome.out)
    assert (round(scores["exact_match"], 4), round(scores["f1"], 4)) == (86.4295, 92.5958)
    assert scores["missing"] == 0
    assert "exact_match = 86.4295" in (tmp_path / "scores" / "eval_results.txt").read_text(encoding="utf-8")


def test_scores_of_version_2(ask, tmp_path):
    gold = write_data(tmp_path / "gold.json", stories=2, impossible=True)
    predictions, odds = tmp_path / "p.json", tmp_path / "o.json"
    predictions.write_text(json.dumps({"0-0": "the cat", "0-1": "", "1-0": "bird"}), encoding="utf-8")
    odds.write_text(json.dumps({"0-0": -2.0, "0-1": 3.0, "1-0": 1.0}), encoding="utf-8")
    flags = {"predict_file": gold, "predictions_file": predictions, "null_odds_file": odds}
    outcome = ask("--score_only", "--version_2_with_negative", **flags)
    assert outcome.code == 0, outcome.err
    check_message(outcome.err, "4 questions")
    scores = json.loads(outcome.out)
    assert (scores["exact"], scores["HasAns_exact"], scores["NoAns_exact"]) == (50, 50, 50)
    assert (scores["best_exact"], scores["best_exact_thresh"]) == (50, -2)
