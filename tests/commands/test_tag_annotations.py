"""bert-tag on unchanged exports of annotation tools."""

import json
import shutil

import pytest

from bert_cli.examples.annotations.reading import read_annotations
from bert_cli.examples.tag_schemes import find_entities
from bert_cli.reading.source import Source
from tests.annotated_texts import write
from tests.commands.tag_run import SPLITS, predicted
from tests.snapshots import check_message

WORDS_OF = " ".join


def annotated(sentences):
    """Return the sentences as texts with spans."""
    texts = []
    for words, tags in sentences:
        starts = [len(WORDS_OF(words[:place])) + bool(place) for place in range(len(words))]
        spans = [
            (starts[entity.start], starts[entity.end - 1] + len(words[entity.end - 1]), entity.type)
            for entity in find_entities(tags)
        ]
        texts.append((WORDS_OF(words), spans))
    return texts


@pytest.fixture
def files(tmp_path):
    """files(format, split, …) -> path of a split in a format; other texts follow the split's."""

    def make(name, split, *further):
        folder = tmp_path / f"{name}_{split}"
        folder.mkdir()
        return write(folder, name, [*annotated(SPLITS[split]), *further])

    return make


def test_a_run_on_three_formats(tagger_once, tag, files, tmp_path, run_folder):
    """It equals a run on columns; texts without annotation are not trained on, but predicted."""
    before, flags = tagger_once
    out = tmp_path / "out"
    data = (
        f"--train_file={files('doccano', 'train')}",
        f"--dev_file={files('label_studio', 'dev', ('a dog', None))}",
        f"--test_file={files('brat', 'test', ('a dog', None))}",
    )
    outcome = tag(*flags, *data, "--num_train_epochs=1", f"--output_dir={out}")
    assert outcome.code == 0, outcome.err
    check_message(outcome.err, "dev: ")
    manifests = [json.loads((folder / "run.json").read_text(encoding="utf-8")) for folder in (out, before)]
    assert manifests[0]["training_data"] == manifests[1]["training_data"]
    assert manifests[0]["labels"] == manifests[1]["labels"]
    owned = [name for name in manifests[0]["files"] if name.startswith("test_predictions/")]
    assert owned == [f"test_predictions/d00{n}.{ending}" for n in range(5) for ending in ("txt", "ann")]
    report = run_folder(out).report()
    assert report["eval"]["eval_entities_PER"] == 4
    assert report["test"]["eval_words"] == sum(len(words) for words, _ in SPLITS["test"])
    assert len(read_annotations(Source(str(out / "test_predictions"), may_be_folder=True)).examples) == 5
    # Texts alone are written in the training file's format, also by a later command.
    (tmp_path / "new.jsonl").write_text('{"text": "a dog", "key": 1}\n', encoding="utf-8")
    new = (f"--test_file={tmp_path / 'new.jsonl'}", "--engine=onnxruntime")
    assert tag("--do_predict", f"--output_dir={out}", *new).code == 0
    assert list(json.loads((out / "test_predictions.jsonl").read_text(encoding="utf-8"))) == ["text", "key", "label"]


@pytest.mark.parametrize("name", ["prodigy", "brat"])
def test_scores_and_predictions_equal_those_with_columns(name, tagger, tag, files, tmp_path, run_folder):
    out = tmp_path / "out"
    data = (f"--dev_file={files(name, 'dev')}", f"--test_file={files(name, 'test')}")
    flags = ("--do_eval", "--noreport", "--do_predict", f"--init_checkpoint={tagger}", "--precision=float32")
    flags = (*flags, f"--output_dir={out}")
    outcome = tag(*flags, *data)
    assert outcome.code == 0, outcome.err
    before, after = run_folder(tagger).report(), run_folder(out).report()
    assert (after["eval"], after["test"]) == (before["eval"], before["test"])
    path = out / ("test_predictions" if name == "brat" else "test_predictions.jsonl")
    if name == "prodigy":  # predictions do not count as annotation until a person accepts them
        path.write_text(
            path.read_text(encoding="utf-8").replace('"meta"', '"answer": "accept", "meta"'), encoding="utf-8"
        )
    entities = [
        list(map(tuple, map(find_entities, [example.tags])))
        for example in read_annotations(Source(str(path), may_be_folder=True)).examples
    ]
    assert entities == [[tuple(find_entities(tags))] for tags in predicted(tagger / "test_predictions.txt")]
    if name == "brat":  # the same command overwrites its files, and no others
        assert tag(*flags, *data).code == 0
        shutil.copy(out / "test_predictions" / "d000.ann", out / "test_predictions" / "d009.ann")
        shutil.copy(tmp_path / "brat_test" / "train" / "d000.txt", tmp_path / "brat_test" / "train" / "d009.txt")
        tag(*flags, *data).assert_refused("d009.ann: ")


def test_tags_of_the_test_file(tagger, tag, files, tmp_path):
    path = files("spacy", "dev")
    flags = ("--do_predict", f"--init_checkpoint={tagger}")
    outcome = tag(*flags, f"--test_file={path}", "--test_tags=no", f"--output_dir={tmp_path / 'out'}")
    assert outcome.code == 0, outcome.err
    assert "Test results" not in outcome.err
    (tmp_path / "new.jsonl").write_text('{"text": "a dog"}\n', encoding="utf-8")
    new = (f"--test_file={tmp_path / 'new.jsonl'}", f"--output_dir={tmp_path / 'other'}")
    tag(*flags, *new, "--test_tags=yes").assert_refused("new.jsonl: ")


def test_annotations_of_an_unknown_form_are_refused_and_left_alone_on_request(tagger, tag, tmp_path):
    (tmp_path / "new.jsonl").write_text('{"text": "a dog", "ner": [[2, 5, "DOG"]]}\n', encoding="utf-8")
    out = tmp_path / "out"
    flags = (
        "--do_predict",
        f"--init_checkpoint={tagger}",
        f"--test_file={tmp_path / 'new.jsonl'}",
        f"--output_dir={out}",
    )
    tag(*flags).assert_refused("new.jsonl:1: ")
    assert not out.exists()
    outcome = tag(*flags, "--test_tags=no")
    assert outcome.code == 0, outcome.err
    assert list(json.loads((out / "test_predictions.jsonl").read_text(encoding="utf-8"))) == ["text", "ner", "spans"]


def test_a_blank_text_alone(tagger, tag, tmp_path):
    (tmp_path / "new.jsonl").write_text('{"text": " ", "entities": []}\n', encoding="utf-8")
    out = tmp_path / "out"
    outcome = tag(
        "--do_predict", f"--init_checkpoint={tagger}", f"--test_file={tmp_path / 'new.jsonl'}", f"--output_dir={out}"
    )
    assert outcome.code == 0, outcome.err
    assert (out / "test_predictions.jsonl").read_text(encoding="utf-8") == '{"text": " ", "entities": []}\n'


def test_refusals(two_layer_flags, tag, tmp_path):
    folder = tmp_path / "documents"
    folder.mkdir()
    out = f"--output_dir={tmp_path / 'out'}"
    flags = (*two_layer_flags, "--do_train", out)
    tag(*flags, f"--train_file={folder}").assert_refused("documents: ")
    texts = [("a dog", [(0, 5, "big animal")])]
    (tmp_path / "a").mkdir()
    train_file = f"--train_file={write(tmp_path / 'a', 'doccano', texts)}"
    brat = write(folder, "brat", [("a dog", None)])
    tag(*flags, train_file, "--do_predict", f"--test_file={brat}").assert_refused()
    tag(*flags, f"--train_file={brat}").assert_refused("--train_file")
    (tmp_path / "b").mkdir()
    second_folder = write(tmp_path / "b", "brat", [("a dog", []), ("a\ncat", [(2, 5, "CAT")])])
    tag(*flags, train_file, "--do_eval", f"--dev_file={second_folder}").assert_refused("d001.txt:2: ")
    (tmp_path / "new.jsonl").write_text('{"text": "a dog", "kind": "x"}\n', encoding="utf-8")
    tag(*flags, f"--train_file={tmp_path / 'new.jsonl'}").assert_refused("new.jsonl: ")
    (tmp_path / "new.jsonl").write_text('{"text": "a dog", "label": []}\n', encoding="utf-8")
    tag(*flags, f"--train_file={tmp_path / 'new.jsonl'}").assert_refused("new.jsonl: ")
    assert not (tmp_path / "out").exists()
