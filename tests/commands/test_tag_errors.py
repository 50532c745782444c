"""Each mistake causes one line with the problem and its place, exit code 1, and no changed file."""

import functools
import json
import os
import subprocess
import sys

import pytest

from bert_cli.run_tagging import main
from tests.commands import helpers
from tests.snapshots import check_message

ALL = ("--do_train", "--do_eval", "--do_predict")
SOUND = "Anna\tB-PER\nsings\tO\n\nthe\tO\nred\tB-ANI\ndog\tI-ANI\n.\tO\n"


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for split in ("train", "dev", "test"):
        (folder / f"{split}.txt").write_text(SOUND, encoding="utf-8")
    return folder


@pytest.fixture
def base(two_layer_flags, data) -> list[str]:
    """Flags for a run without a phase; later flags override them."""
    return [*two_layer_flags, f"--data_dir={data}"]


@pytest.fixture
def refused(capfd, tmp_path):
    """Call bert-tag, which must refuse, with a missing output_dir and with one that has files."""
    call = functools.partial(helpers.call, capfd, "bert-tag", main)
    return helpers.refused_in_any_folder(call, tmp_path, "predictions.txt")


# name -> (file, its text, fragments of the message)
BAD_FILES = {
    "no tag": ("train.txt", SOUND + "cat\n", [":8: "]),
    "other columns": ("dev.txt", SOUND + "a\tb\tO\n", [":8: "]),
    "empty word": ("train.txt", SOUND + "\tO\n", [":8: "]),
    "no scheme": ("train.txt", SOUND + "cat\tX-ANI\n", [":8: "]),
    "type unknown to dev": ("dev.txt", SOUND + "cat\tB-CAT\n", [":8: ", "correct it"]),
    "type unknown to test": ("test.txt", SOUND + "cat\tB-CAT\n", [":8: ", "--test_tags=no"]),
    "header in doubt": (
        "train.txt",
        "Mot\tType\n" + "a\tx\nb\tO\n" * 10,
        [":1: ", "--header=yes"],
    ),
    "no words to evaluate": ("dev.txt", "\n", ["dev.txt: ", "; check --dev_file"]),
    "a header without a tag": (
        "train.txt",
        "Word\tPOS\na\tx\nb\ty\n",
        [":1: ", "--tag_column=POS"],
    ),
    "only O": ("train.txt", "a\tO\ndog\tO\n", ["every tag is O", "--tag_column"]),
    "no words": ("train.txt", "\n \n", ["holds no words"]),
    "bytes of UTF-16": ("train.txt", "a\0", [":1: holds a NUL character"]),
    "mixed line ends": ("test.txt", "a\tO\rdog\tO\n", [":1: "]),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_file(name, refused, base, data):
    file, text, fragments = BAD_FILES[name]
    (data / file).write_text(text, encoding="utf-8")
    refused([*base, *ALL], *fragments, str(data / file))


BAD_JSON = {
    "no JSON": ("{'words': []}", [":2: ", "JSON"]),
    "no words": ('{"tags": []}', [":2: "]),
    "numbers": ('{"words": ["a"], "tags": [1]}', [':2: "tags" has numbers', "--labels=O,B-PER,I-PER"]),
    "no tags": ('{"words": ["a"]}', [':2: expected "tags"']),
    "too few tags": ('{"words": ["a", "dog"], "tags": ["O"]}', [":2: 2 words but 1 tags"]),
}


@pytest.mark.parametrize("name", BAD_JSON)
def test_bad_json(name, refused, base, tmp_path):
    line, fragments = BAD_JSON[name]
    path = tmp_path / "train.jsonl"
    sound = json.dumps({"words": ["Anna"], "tags": ["B-PER"]})
    path.write_text(f"{sound}\n{line}\n", encoding="utf-8")
    refused([*base, "--do_train", f"--train_file={path}"], *fragments, str(path))


def test_missing_files(refused, base, data, tmp_path):
    refused([*base, "--do_train", "--train_file=none.txt"], "none.txt: ")
    refused([*base, "--do_train", f"--data_dir={tmp_path}"], "train.txt: ", "--data_dir")
    (data / "dev.jsonl").write_text("{}", encoding="utf-8")
    refused([*base, *ALL], f"{data}: ")
    (data / "test.txt").unlink()
    (data / "test.txt").mkdir()
    refused([*base, "--do_train", "--do_predict"], f"{data / 'test.txt'}: is a directory", "--data_dir")


BAD_FLAGS = {
    "untrained": (["--do_predict"], ["holds no trained model", "--do_train"]),
    "text without model": (["--text=a dog"], ["holds no trained model", "--init_checkpoint"]),
    "no such flag": (["--do_train", "--label_all"], ["--label_all"]),
    "scheme": (["--do_train", "--tag_scheme=IOE2"], ["--tag_scheme", "IOE2", "BIOES"]),
    "tag form": (["--do_train", "--tag_form=PER"], ["--tag_form=PER: "]),
    "decoding": (["--do_train", "--decoding=beam"], ["--decoding", "beam", "viterbi"]),
    "same column": (["--do_train", "--tag_column=0"], ["--tag_column: "]),
    "column too high": (["--do_train", "--tag_column=2"], ["train.txt:1: "]),
    "layers in words": (["--do_train", "--layers=last"], ["--layers=last: "]),
    "layer twice": (["--do_train", "--layers=-1,-1"], ["--layers=-1,-1: "]),
    "layer twice, by two names": (["--do_train", "--layers=-1,1"], ["--layers=-1,1: "]),
    "no such layer": (["--do_train", "--layers=-1,-3"], ["there is no layer -3"]),
    "stride": (["--do_train", "--doc_stride=0"], ["--doc_stride=0"]),
    "too short": (["--do_train", "--max_seq_length=2"], ["--max_seq_length: "]),
    "too long": (["--do_train", "--max_seq_length=65"], ["--max_seq_length=65"]),
    "no step": (["--do_train", "--num_train_epochs=0.001"], ["make no training step"]),
    "no model": (["--do_train", "--init_checkpoint=none"], ["none: no checkpoint there"]),
}


@pytest.mark.parametrize("name", BAD_FLAGS)
def test_bad_flags(name, refused, base):
    flags, fragments = BAD_FLAGS[name]
    refused([*base, *flags], *fragments)


def test_model_of_another_task(refused, base, trained, data, tmp_path):
    """A classifier trained by bert-classify has labels, but no tags."""
    refused(
        [*base, "--do_predict", f"--init_checkpoint={trained}"],
    )
    for name in ("run.json", "flags.txt"):  # they have the task of the model
        (trained / name).unlink()
    (trained / "labels.txt").write_text("B-PER\nI-PER\n", encoding="utf-8")
    refused([*base, "--do_predict", f"--init_checkpoint={trained}"], "labels.txt: ")
    (trained / "labels.txt").write_text("O\nPER\n", encoding="utf-8")
    refused([*base, "--do_predict", f"--init_checkpoint={trained}"], "labels.txt: ", "PER")
    (trained / "labels.txt").unlink()
    refused([*base, "--text=a dog", f"--init_checkpoint={trained}"], "labels.txt: ", "O, B-x, I-x")


def test_invalid_plain_text(refused, base, trained_two_layers, tmp_path):
    for name in ("run.json", "flags.txt"):  # they have the task of the model
        (trained_two_layers / name).unlink()
    (trained_two_layers / "labels.txt").write_text("O\nB-PER\n", encoding="utf-8")
    flags = [*base, f"--init_checkpoint={trained_two_layers}"]
    (tmp_path / "blank.txt").write_text("", encoding="utf-8")
    refused([*flags, "--text= "], "--text: holds no words")
    refused([*flags, f"--input_file={tmp_path / 'blank.txt'}"], "blank.txt: is empty")
    refused([*flags, "--input_file=none.txt"], "none.txt: ")
    refused([*flags, "--input_file=none.txt", f"--output_file={tmp_path / 'blank.txt' / 'x'}"], "--output_file")


def test_run_of_another_task_in_the_folder(base, trained, capfd, snapshot):
    before = snapshot(trained)
    assert main([*base, "--do_train", f"--output_dir={trained}"]) == 1
    err = capfd.readouterr().err
    check_message(err, f"bert-tag: error: {trained}: ")
    assert " was " not in err
    assert snapshot(trained) == before


# Calls the command with each list of arguments, and prints exit codes, messages
# and imported modules.
ANSWERER = """
import contextlib, io, json, sys
from bert_cli.run_tagging import main
answers = []
for arguments in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    answers.append([code, out.getvalue(), err.getvalue()])
slow = {"tensorflow", "keras", "pandas", "sklearn", "scipy"}
print(json.dumps([answers, sorted(slow & {name.partition(".")[0] for name in sys.modules})]))
"""


def test_quick_answers_do_not_import_tensorflow(base, data, tmp_path):
    """Run in a separate process: importing TensorFlow takes seconds."""
    out = f"--output_dir={tmp_path / 'out'}"
    (data / "dev.txt").write_text("lonely\n", encoding="utf-8")
    calls = [
        ["--helpfull"],
        [*base, out, "--do_train", "--do_eval"],
        [*base, out, "--do_train", "--layers=5"],
        [*base, out, "--text=a dog"],
    ]
    command = [sys.executable, "-c", ANSWERER, json.dumps(calls)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answers, slow = json.loads(done.stdout)
    assert slow == []
    assert [code for code, _, _ in answers] == [0, 1, 1, 1]
    for flag in ("--tag_column", "--freeze_encoder", "--text", "--doc_stride"):
        assert flag in answers[0][1]
    assert not os.path.exists(tmp_path / "out")
