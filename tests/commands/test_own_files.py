"""No command overwrites its input, or a file that no run of ours has listed."""

import json
import os

import pytest

from bert_cli import fill_mask, run_squad, run_tagging
from tests.snapshots import check_message

COMMANDS = {
    "bert-tag": (run_tagging.main, "a dog .\n"),
    "bert-fill-mask": (fill_mask.main, "a [MASK] .\n"),
    "bert-squad": (run_squad.main, '{"id": "1", "question": "who ?", "context": "a dog ."}\n'),
}


@pytest.mark.parametrize("make", [None, os.symlink, os.link])
@pytest.mark.parametrize("command", COMMANDS)
def test_output_must_not_be_the_input(command, make, trained, tmp_path, capfd):
    main, text = COMMANDS[command]
    path, output = tmp_path / "input", tmp_path / "output"
    path.write_text(text)
    if make:
        make(path, output)
    else:
        output = path
    # They have the task of the model.
    for name in ("run.json", "flags.txt") if command != "bert-classify" else ():
        (trained / name).unlink()
    if command == "bert-tag":
        (trained / "labels.txt").write_text("O\nB-X\n")
    flags = [
        f"--input_file={path}",
        f"--output_file={output}",
        f"--init_checkpoint={trained}",
        "--max_query_length=8",
        "--max_seq_length=32",
        "--doc_stride=8",
    ]
    assert main(flags if command == "bert-squad" else flags[:3]) == 1
    last = capfd.readouterr().err.rstrip("\n").rpartition("\n")[2]
    assert last == f"{command}: error: {output}: would be written over, but it is read; check --output_file"
    assert path.read_text() == text


def test_output_must_not_be_the_context_file(trained, tmp_path, capfd):
    path = tmp_path / "context.txt"
    path.write_text("a dog .")
    # --output_file needs --input_file, so the two cannot meet on the command line.
    flags = [f"--context_file={path}", f"--output_file={path}", "--question=who ?", f"--init_checkpoint={trained}"]
    assert run_squad.main(flags) == 1
    check_message(capfd.readouterr().err, "--output_file")
    assert path.read_text() == "a dog ."


def test_predictions_next_to_other_files(trained, cola, tmp_path, classify):
    out = tmp_path / "results"
    out.mkdir()
    (out / "predictions.tsv").write_text("mine")
    flags = ["--do_predict", f"--init_checkpoint={trained}", f"--data_dir={cola}", f"--output_dir={out}"]
    classify(*flags).assert_refused(f"{out / 'predictions.tsv'}: ")
    assert {path.name: path.read_text() for path in out.iterdir()} == {"predictions.tsv": "mine"}
    (out / "predictions.tsv").rename(out / "mine.tsv")
    for _ in range(2):  # the second run may overwrite the first one's files
        outcome = classify(*flags)
        assert outcome.code == 0, outcome.err
    assert json.loads((out / "run_report.json").read_text())["files"] == ["predictions.tsv", "test_results.tsv"]
    assert (out / "mine.tsv").read_text() == "mine"


def test_training_next_to_other_files(trained_flags, tmp_path, classify, snapshot):
    out = tmp_path / "out"
    out.mkdir()
    for name in ("flags.txt", "predictions.json", ".writing-abc12_3x", "model.ckpt-77.meta"):
        (out / name).write_text("mine")
    before = snapshot(out)
    for extra in ([], ["--overwrite_output_dir"]):
        outcome = classify(*trained_flags, f"--output_dir={out}", *extra)
        outcome.assert_refused(f"{out / 'flags.txt'}: ")
        assert snapshot(out) == before


DAMAGED = {
    "emptied labels": ("labels.txt", lambda text: "",
                       "is not the list of labels that the model was trained with (run.json) (0, 1)"),
    "labels in another order": ("labels.txt", lambda text: "1\n0\n", "is not the list of labels"),
    "half a vocabulary": ("vocab.txt", lambda text: text[: len(text) // 2], "is not the vocabulary that the model was"),
    "another word": ("vocab.txt", lambda text: text.replace("horse", "house"), "is not the vocabulary that the model was"),
    "another size": ("bert_config.json", lambda text: text.replace('"num_attention_heads": 2', '"num_attention_heads": 4'),
                     "num_attention_heads is 4, but was 2 when the model was trained (run.json)"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_file_of_a_trained_model(name, trained, classify, snapshot):
    from bert_cli import Classifier
    from bert_cli.base.errors import InputError

    file, damage, message = DAMAGED[name]
    path = trained / file
    path.write_text(damage(path.read_text(encoding="utf-8")), encoding="utf-8")
    before = snapshot(trained)
    classify("--do_predict", f"--output_dir={trained}").assert_refused(f"{path}: {message}")
    with pytest.raises(InputError) as caught:
        Classifier.load(str(trained))
    assert str(caught.value).startswith(f"{path}: {message}")
    assert snapshot(trained) == before


def test_an_emptied_list_of_labels_without_a_manifest(trained, classify):
    (trained / "run.json").unlink()
    (trained / "labels.txt").write_text("")
    classify("--do_predict", f"--output_dir={trained}").assert_refused(f"{trained / 'labels.txt'}: is empty")


def test_text_that_begins_with_a_space(tmp_path, capfd):
    missing = f"--init_checkpoint={tmp_path / 'none'}"
    assert fill_mask.main([" the [MASK] sees", missing]) == 1
    assert "no checkpoint there" in capfd.readouterr().err
    assert run_squad.main(["--question", " who ?", "--context", "  a dog .", missing]) == 1
    assert "no checkpoint there" in capfd.readouterr().err
    assert fill_mask.main([" --top_k=3", "a [MASK]", missing]) == 1
    check_message(capfd.readouterr().err, "--top_k=3'")
