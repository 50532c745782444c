"""bert-tag with a trained model: predictions in all formats, and plain text."""

import itertools
import json
import sys

import pandas as pd

from tests.commands.tag_run import LABELS, LONG, SPLITS, columns, flat, predicted, save_pretrained
from tests.rows import write_rows
from tests.snapshots import check_message


def test_predictions_are_the_test_file_with_another_column(tagger):
    lines = (tagger / "test_predictions.txt").read_text(encoding="utf-8").split("\n")
    expected = columns(SPLITS["test"]).split("\n")
    assert [line.rpartition("\t")[0] for line in lines] == expected
    assert {line.rpartition("\t")[2] for line in lines if line} <= set(LABELS)


def test_prediction_needs_only_the_folder(tagger_once, tag, tmp_path):
    """Flags are remembered, the batch size does not change results, and --output_dir may differ."""
    for size in (1, 50):
        out = tmp_path / str(size)
        flags = ("--do_predict", f"--init_checkpoint={tagger_once[0]}", f"--predict_batch_size={size}")
        outcome = tag(*flags, f"--output_dir={out}", "--precision=float32")
        assert outcome.code == 0, outcome.err
        check_message(outcome.err, "4 sentences")
        assert (out / "test_predictions.txt").read_bytes() == (tagger_once[0] / "test_predictions.txt").read_bytes()


def impossible(tags) -> int:
    """Return how many I-x follow neither B-x nor I-x."""
    pairs = itertools.pairwise(["O", *tags])
    return sum(after[0] == "I" and before not in (f"B-{after[2:]}", after) for before, after in pairs)


def test_viterbi_never_gives_an_impossible_sequence(model, tagger_once, tag, tmp_path):
    """Weights, vocabulary, config and labels.txt of a third-party model are enough."""
    folder, num_impossible = save_pretrained(tmp_path / "start", model, with_head=True), {}
    data = next(flag for flag in tagger_once[1] if flag.startswith("--data_dir"))
    for decoding in ("argmax", "viterbi"):
        out = tmp_path / decoding
        flags = (f"--init_checkpoint={folder}", data, "--max_seq_length=20", f"--output_dir={out}")
        assert tag("--do_predict", "--engine=onnxruntime", f"--decoding={decoding}", *flags).code == 0
        num_impossible[decoding] = sum(map(impossible, predicted(out / "test_predictions.txt")))
    assert num_impossible["argmax"] > 5
    assert num_impossible["viterbi"] == 0


def test_lines_with_unknown_words(tagger, tag, tmp_path):
    source, target = tmp_path / "texts.txt", tmp_path / "tags.jsonl"
    source.write_text("dog " * 10 + "\u4e00\n", encoding="utf-8")
    flags, message = (
        [f"--input_file={source}", f"--output_file={target}"],
        f"first lines of {source}: 1 of 11 words (9%)",
    )
    outcome = tag(f"--output_dir={tagger}", *flags)
    assert outcome.code == 0, outcome.err
    assert f"warning: {message} are [UNK]" in outcome.err
    target.unlink()
    tag(f"--output_dir={tagger}", *flags, "--strict").assert_refused(message, "--vocab_file", "--do_lower_case")
    assert not target.exists()


def test_text(tagger, tag, snapshot, monkeypatch):
    """A terminal shows each word's tag too; a program reads JSON alone."""
    before = snapshot(tagger)
    text = "The  young teacher, see: a small dog."
    piped = tag(f"--output_dir={tagger}", "--text", text)
    assert piped.code == 0, piped.err
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    outcome = tag(f"--output_dir={tagger}", "--text", text)
    assert outcome.code == 0, outcome.err
    assert json.loads(piped.out) == json.loads(outcome.out.splitlines()[-1])
    *rows, record = outcome.out.rstrip("\n").split("\n")
    assert [row.split("\t")[0] for row in rows] == [
        "The",
        "young",
        "teacher",
        ",",
        "see",
        ":",
        "a",
        "small",
        "dog",
        ".",
    ]
    parsed_record = json.loads(record)
    assert parsed_record["text"] == text
    assert {"type": "PER", "text": "young teacher", "start": 5, "end": 18} in [
        {key: value for key, value in entity.items() if key != "score"} for entity in parsed_record["entities"]
    ]
    for entity in parsed_record["entities"]:
        assert text[entity["start"] : entity["end"]] == entity["text"]
        assert 0 < entity["score"] <= 1
    assert snapshot(tagger) == before


def test_lines_of_a_file(tagger, tag, tmp_path):
    lines = ["the old farmer likes a dog .", "", "a fish", " ".join(LONG[0])]
    (tmp_path / "lines.txt").write_text("\n".join(lines), encoding="utf-8")
    flags = (f"--output_dir={tagger}", f"--input_file={tmp_path / 'lines.txt'}", "--decoding=viterbi")
    outcome = tag(*flags)
    assert tag(*flags, f"--output_file={tmp_path / 'found.jsonl'}").out == ""
    assert (tmp_path / "found.jsonl").read_text(encoding="utf-8") == outcome.out
    records = [json.loads(line) for line in outcome.out.splitlines()]
    assert [(record["index"], record["text"]) for record in records] == list(enumerate(lines))
    assert records[1]["entities"] == []
    assert [entity["text"] for entity in records[0]["entities"]] == ["old farmer", "dog"]
    assert len(records[3]["entities"]) > 10


def test_predictions_for_a_table_have_its_ids(tagger, tag, tmp_path):
    texts = ["the old farmer likes a dog .", ""]
    pd.DataFrame({"id": ["r7", "r8"], "text": texts}).to_excel(tmp_path / "new.xlsx", index=False)
    (tmp_path / "new.csv").write_text("note;text\n1;the old farmer likes a dog .\n2;\n", encoding="utf-8")
    (tmp_path / "lines.txt").write_text("\n".join([*texts, ""]), encoding="utf-8")
    records = {}
    for name, flags in {"new.xlsx": [], "new.csv": ["--id_column=note"], "lines.txt": []}.items():
        outcome = tag(f"--output_dir={tagger}", f"--input_file={tmp_path / name}", *flags)
        records[name] = [json.loads(line) for line in outcome.out.splitlines()]
    ids = {name: [record.pop("id", None) for record in table_records] for name, table_records in records.items()}
    assert ids == {"new.xlsx": ["r7", "r8"], "new.csv": ["1", "2"], "lines.txt": [None, None]}
    assert records["new.xlsx"] == records["new.csv"] == records["lines.txt"]
    assert [entity["text"] for entity in records["new.xlsx"][0]["entities"]] == ["old farmer", "dog"]


def test_blank_lines_alone_give_empty_records(tagger, tag, tmp_path):
    (tmp_path / "blank.txt").write_text(" \r\n\n", encoding="utf-8")
    outcome = tag(f"--output_dir={tagger}", f"--input_file={tmp_path / 'blank.txt'}")
    assert [json.loads(line) for line in outcome.out.splitlines()] == [
        {"index": 0, "text": " ", "entities": []},
        {"index": 1, "text": "", "entities": []},
    ]


def test_json_lines(tagger, tag, tmp_path):
    """Tags are scored if there are any; other keys are kept."""
    data = tmp_path / "data"
    data.mkdir()
    rows = [{"id": n, "words": words, "tags": tags} for n, (words, tags) in enumerate(SPLITS["test"])]
    write_rows(data / "dev.jsonl", rows)
    bare = [{key: value for key, value in row.items() if key != "tags"} for row in rows]
    write_rows(data / "test.jsonl", bare)
    out = tmp_path / "out"
    flags = (f"--init_checkpoint={tagger}", f"--data_dir={data}", f"--output_dir={out}", "--precision=float32")
    outcome = tag("--do_eval", "--do_predict", *flags)
    assert outcome.code == 0, outcome.err
    report = json.loads((out / "run_report.json").read_text(encoding="utf-8"))
    before = json.loads((tagger / "run_report.json").read_text(encoding="utf-8"))
    assert {**before["test"], "global_step": 60} == report["eval"]
    assert "test" not in report
    predicted_records = [
        json.loads(line) for line in (out / "test_predictions.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert [{**row, "predicted_tags": None} for row in predicted_records] == [
        {**row, "predicted_tags": None} for row in bare
    ]
    assert [row["predicted_tags"] for row in predicted_records] == predicted(tagger / "test_predictions.txt")


def test_test_file_without_tags(tagger, tag, tmp_path):
    """One file has only words; for another, --test_tags=no declares its columns not to be tags."""
    words = "\n".join("".join(f"{word}\n" for word in pair[0]) for pair in SPLITS["test"])
    (tmp_path / "words.txt").write_text(words, encoding="utf-8")
    (tmp_path / "more.txt").write_text(words.replace("\n", " NN\n").replace("\n NN", "\n"), encoding="utf-8")
    for name, flag in (("words.txt", "--test_tags=auto"), ("more.txt", "--test_tags=no")):
        out = tmp_path / name.removesuffix(".txt")
        flags = (f"--init_checkpoint={tagger}", f"--test_file={tmp_path / name}", f"--output_dir={out}", flag)
        outcome = tag("--do_predict", *flags, "--precision=float32")
        assert outcome.code == 0, outcome.err
        assert "Test results" not in outcome.err
        lines = (out / "test_predictions.txt").read_text(encoding="utf-8").replace("\n\n", "\n").split()
        width = 2 if name == "words.txt" else 3
        assert lines[width - 1 :: width] == flat(tagger / "test_predictions.txt")
