"""Each mistake causes one line with the problem and its place, exit code 1, and no changed file."""

import json
import os
import subprocess
import sys

import pytest

ALL = ("--do_train", "--do_eval", "--do_predict")


# name -> (file, function from its good bytes to bad ones, fragments of the message)
BAD_FILES = {
    "missing column": ("train.tsv", lambda sound: sound + b"s99\t1\tcat\n", [":25: expected at least 4", "found 3"]),
    "missing column in test": ("test.tsv", lambda sound: sound + b"cat\n", [":15: expected at least 2", "found 1"]),
    "commas for tabs": ("train.tsv", lambda sound: sound.replace(b"\t", b";"), [":1: ", "semicolon-separated"]),
    "unknown label": ("dev.tsv", lambda sound: sound + b"s99\t2\t\ta cat .\n", [":12: label '2' is not among 0, 1"]),
    "empty label": ("train.tsv", lambda sound: sound + b"s99\t\t\ta cat .\n", [":25: "]),
    "label with a blank": ("train.tsv", lambda sound: sound + b"s99\t1 \t\ta cat\n", [":25: label '1 ' has a space"]),
    "one label": (
        "train.tsv",
        lambda sound: b"a\tx\t\tcat\nb\tx\t\tdog\n",
        ["'x'"],
    ),
    "empty file": ("train.tsv", lambda sound: b"", [": is empty"]),
    "blank lines": ("dev.tsv", lambda sound: b"\n  \r\n\n", [": is empty"]),
    "only a header": ("test.tsv", lambda sound: b"id\ttext\n", []),
    "header in train": (
        "train.tsv",
        lambda sound: b"id\tlabel\tmark\tsentence\n" + sound,
        [":1: ", "--header=yes", "--header=no"],
    ),
    "header in dev": (
        "dev.tsv",
        lambda sound: b"id\tlabel\tmark\tsentence\n" + sound,
        [":1: ", "--header=yes", "--header=no"],
    ),
    "no header in test": (
        "test.tsv",
        lambda sound: sound.partition(b"\n")[2],
        [":1: ", "--header=yes", "--header=no"],
    ),
    "columns of train in test": ("test.tsv", lambda sound: b"a\t1\t\tcat\nb\t0\t\tdog\n", ["test.tsv:", "column 2"]),
    "NUL": ("train.tsv", lambda sound: sound + b"s99\t1\t\tc\0t\n", [":25: holds a NUL"]),
    "UTF-16 with mark": ("train.tsv", lambda sound: sound.decode().encode("utf-16"), [":1: is UTF-16"]),
    "UTF-16 without mark": ("dev.tsv", lambda sound: sound.decode().encode("utf-16-le"), [":1: holds a NUL", "UTF-16"]),
    "Latin-1": ("test.tsv", lambda sound: sound + b"s99\tcaf\xe9\n", [":15: "]),
    "glued lines": ("train.tsv", lambda sound: sound.replace(b"\n", b"\r", 1), [":1: a carriage return inside"]),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_file(name, refused, flags, cola):
    file, damage, fragments = BAD_FILES[name]
    (cola / file).write_bytes(damage((cola / file).read_bytes()))
    # The file with one label is an exception: no single row is wrong.
    refused([*flags, *ALL], *fragments, *([] if name == "one label" else [str(cola / file)]))


@pytest.mark.parametrize("file", ["train.tsv", "dev.tsv", "test.tsv"])
def test_missing_file(file, refused, flags, cola):
    (cola / file).unlink()
    refused([*flags, *ALL], f"{cola / file}: no such file", "--data_dir")


def test_directory_as_a_file(refused, flags, cola):
    (cola / "dev.tsv").unlink()
    (cola / "dev.tsv").mkdir()
    refused([*flags, *ALL], f"{cola / 'dev.tsv'}: is a directory", "--data_dir")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_missing_permission(refused, classify, flags, cola, tmp_path):
    (cola / "dev.tsv").chmod(0)
    refused([*flags, *ALL], f"{cola / 'dev.tsv'}: permission denied", "--data_dir")
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    classify(*flags, "--do_train", f"--output_dir={locked}").assert_refused(f"{locked}: no permission", "--output_dir")


BAD_FLAGS = {
    "nothing to do": ([], ["nothing to do", "--do_train", "--do_eval", "--do_predict"]),
    "nothing to do, in words": (["--do_train=false"], ["nothing to do"]),
    "unknown task": (["--do_train", "--task_name=colla"], ["--task_name", "'colla'", "cola, sst-2, mrpc, "]),
    "task of another spelling": (
        ["--do_train", "--task_name=SST2"],
        ["'sst2'"],
    ),
    "no task": (["--do_train", "--task_name="], ["--task_name"]),
    "unknown flag": (["--do_train", "--max_seq_lenght=9"], ["--max_seq_lenght", "--max_seq_length"]),
    "hyphens": (["--do-train"], ["--do-train", "--do_train"]),
    "misspelt no": (["--nodo_trian"], ["--nodo_trian", "--do_train"]),
    "abbreviated": (["--do_train", "--vocab=x"], ["--vocab: "]),
    "from the original's README": (["--do_train", "--do_lower=False"], ["--do_lower", "--do_lower_case"]),
    "word after a boolean": (["--do_train", "False"], ["stray word 'False'", "--do_train=false"]),
    "stray word": (["--do_train", "cola"], ["stray word 'cola'"]),
    "leading space": (
        ["--do_train", " --do_eval"],
        ["--do_eval"],
    ),
    "no boolean": (["--do_train=yes"], ["--do_train=yes: "]),
    "no whole number": (["--do_train", "--max_seq_length=3.0"], ["--max_seq_length=3.0: "]),
    "no number": (["--do_train", "--learning_rate=fast"], ["--learning_rate=fast: a number"]),
    "nan rate": (["--do_train", "--learning_rate=nan"], ["--learning_rate=nan: "]),
    "infinite rate": (["--do_train", "--learning_rate=inf"], ["--learning_rate=inf: "]),
    "negative rate": (["--do_train", "--learning_rate=-1"], ["--learning_rate=-1"]),
    "nan epochs": (["--do_train", "--num_train_epochs=nan"], ["--num_train_epochs=nan: "]),
    "infinite epochs": (["--do_train", "--num_train_epochs=inf"], ["--num_train_epochs=inf: "]),
    "too many epochs": (["--do_train", "--num_train_epochs=1e30"], ["--num_train_epochs=1e+30", "smaller"]),
    "nan warmup": (["--do_train", "--warmup_proportion=nan"], ["--warmup_proportion=nan: "]),
    "warmup in percent": (["--do_train", "--warmup_proportion=10"], ["--warmup_proportion=10", "[0.0, 1.0]"]),
    "no choice": (["--do_train", "--precision=fp16"], ["--precision=fp16", "float16"]),
    "no batch": (["--do_train", "--train_batch_size=0"], ["--train_batch_size=0"]),
    "no step": (["--do_train", "--num_train_epochs=0.01"], ["24 examples", "a larger --num_train_epochs"]),
    "no epoch": (["--do_train", "--num_train_epochs=0"], ["--num_train_epochs"]),
    "a label twice": (["--do_train", "--labels=0,1,0"], ["--labels=0,1,0"]),
    "one label": (["--do_train", "--labels=0"], ["--labels=0"]),
    "labels of other data": (["--do_train", "--labels=1,2"], ["train.tsv:"]),
    "too long": (["--do_train", "--max_seq_length=65"], ["--max_seq_length=65", "64 positions", "bert_config.json"]),
    "too short": (["--do_train", "--max_seq_length=2"], ["--max_seq_length: "]),
    "variable not set": (["--do_train", "--init_checkpoint="], ["--init_checkpoint="]),
    "no value": (["--do_train", "--labels"], ["--labels"]),
    "no flagfile": (["--flagfile=not/there.txt"], ["not/there.txt: "]),
    "no data": (["--do_train", "--data_dir=not/there"], ["not/there/train.tsv: ", "--data_dir"]),
    "no vocabulary": (["--do_train", "--vocab_file=not/there"], ["not/there: ", "--vocab_file"]),
    "no config": (["--do_train", "--bert_config_file=not/there"], ["not/there: ", "--bert_config_file"]),
    "no checkpoint": (
        ["--do_train", "--init_checkpoint=a/b.ckpt"],
        ["a/b.ckpt: no such directory", "--init_checkpoint"],
    ),
    "nothing trained": (
        ["--do_predict"],
        ["holds no trained model", "--output_dir", "--do_train", "--init_checkpoint"],
    ),
}


@pytest.mark.parametrize("name", BAD_FLAGS)
def test_bad_flag(name, refused, flags, tmp_path, monkeypatch):
    bad_flags, fragments = BAD_FLAGS[name]
    monkeypatch.chdir(tmp_path)
    refused([*flags, *bad_flags], *fragments)


def test_flags_that_are_needed(refused, flags, cola, model):
    task, data, vocab, config, *_ = flags
    refused([data, vocab, config, "--do_train"], "--task_name is needed")
    refused([task, data, vocab, "--do_train"], "--bert_config_file")
    refused([task, data, config, "--do_train"], "--vocab_file is needed")
    refused([task, data, "--do_train", f"--flagfile={cola}"], f"{cola}: ")


def test_pairs_need_room_for_both(refused, flags, mrpc):
    refused([*flags, "--task_name=mrpc", f"--data_dir={mrpc}", "--max_seq_length=4", "--do_train"], "pairs", "give 5")


def test_prediction_of_xnli(refused, flags, tmp_path, mnli):
    (mnli / "multinli").mkdir()
    (mnli / "multinli" / "multinli.train.zh.tsv").write_text(
        "premise\thypo\tlabel\nthe cat\tthe dog\tneutral\n", encoding="utf-8"
    )
    refused([*flags, *ALL[::2], "--task_name=xnli", f"--data_dir={mnli}"], "--do_predict: ")


def test_invalid_output_dir(classify, flags, cola, trained_once):
    file = cola / "dev.tsv"
    before = file.read_bytes()
    for output_dir in (file, file / "below"):
        training = classify(*flags, "--do_train", f"--output_dir={output_dir}")
        training.assert_refused(f"{file}: is a file", "--output_dir")
        predicting = classify("--do_predict", f"--init_checkpoint={trained_once[0]}", f"--output_dir={output_dir}")
        predicting.assert_refused(f"{file}: is a file", "--output_dir")
    assert file.read_bytes() == before


@pytest.mark.parametrize("name", ["train.tsv", "vocab.txt", "bert_config.json", "config.json", "bert_model.ckpt.index"])
def test_output_dir_that_holds_data_or_models(name, classify, flags, tmp_path, snapshot):
    """Training there would overwrite other files, or mix with them."""
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / name).write_text("theirs", encoding="utf-8")
    before = snapshot(tmp_path / "theirs")
    for extra in ((), ("--overwrite_output_dir",)):
        outcome = classify(*flags, "--do_train", f"--output_dir={tmp_path / 'theirs'}", *extra)
        outcome.assert_refused(f"{tmp_path / 'theirs'}: holds {name}", "--output_dir")
    assert snapshot(tmp_path / "theirs") == before


# Calls the command with each list of arguments, and prints exit codes, messages
# and imported modules.
ANSWERER = """
import contextlib, io, json, sys
from bert_cli.run_classifier import main
answers = []
for arguments in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    answers.append([code, out.getvalue(), err.getvalue()])
slow = {"tensorflow", "keras", "pandas", "sklearn", "scipy"}
print(json.dumps([answers, sorted(slow & {name.partition(".")[0] for name in sys.modules})]))
"""


def test_quick_answers_do_not_import_tensorflow(flags, cola, tmp_path):
    """Run in a separate process: importing TensorFlow takes seconds."""
    (cola / "dev.tsv").write_text("lonely\n", encoding="utf-8")
    out = f"--output_dir={tmp_path / 'out'}"
    calls = {
        "--help": ["--help"],
        "--helpfull": ["--helpfull"],
        "--version": ["--version"],
        "wrong flag": [*flags, out, "--do_trian"],
        "wrong value": [*flags, out, "--do_train", "--max_seq_length=many"],
        "missing file": [*flags, out, "--do_train", f"--data_dir={tmp_path}"],
        "missing model": [*flags, out, "--do_train", "--init_checkpoint=none"],
        "bad row": [*flags, out, "--do_train", "--do_eval"],
        "too long": [*flags, out, "--do_train", "--max_seq_length=512"],
        "untrained": [*flags, out, "--do_predict"],
    }
    command = [sys.executable, "-c", ANSWERER, json.dumps(list(calls.values()))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answers, slow = json.loads(done.stdout)
    assert slow == []
    assert [code for code, _, _ in answers] == [0, 0, 0] + [1] * 7
    answer_by_call = dict(zip(calls, answers, strict=True))
    for name in list(calls)[3:]:
        assert answer_by_call[name][2].rpartition("bert-classify: error: ")[2].count("\n") == 1, name
    for flag in ("--task_name", "--init_checkpoint", "--num_train_epochs", "--helpfull"):
        assert flag in answer_by_call["--help"][1]
    for flag in ("--task_name", "--tpu_name", "--flagfile"):
        assert flag in answer_by_call["--helpfull"][1]
    assert not (tmp_path / "out").exists()


# Slow: tests/base/test_log.py logs to a pipe without a reader in this process.
@pytest.mark.parametrize("merged", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_closed_output_pipe(merged, flags, tmp_path):
    """The pipe is as in `bert-classify --help | head -1`; with `2>&1`, training ends without a log."""
    arguments = [*flags, "--do_train", f"--output_dir={tmp_path / 'out'}"] if merged else ["--help"]
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.Popen(
        [sys.executable, "-m", "bert_cli.run_classifier", *arguments],
        stdout=writer,
        stderr=writer if merged else subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    _, err = process.communicate()
    assert process.returncode == (0 if merged else 1)
    assert merged or err == ""
    assert bool(list(tmp_path.glob("out/model.ckpt-*.index"))) == merged
