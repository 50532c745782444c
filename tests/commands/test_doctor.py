"""bert-doctor, the command `bert`, and parameter counts in all commands that report them."""

import json
import os
import re
import subprocess
import sys

import pytest

from bert_cli import Classifier, convert_checkpoint, doctor
from bert_cli.__main__ import COMMANDS, main
from tests.snapshots import check_message

BASE = {
    "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522,
    "max_position_embeddings": 512, "type_vocab_size": 2, "hidden_act": "gelu", "initializer_range": 0.02,
    "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
}  # fmt: skip
# Parameters of the test model: 98 tokens, 64 positions, 2 types and a normalization of width 16; a
# layer has widths 16 and 32.
EMBEDDINGS, LAYER, POOLER = (98 + 64 + 2 + 2) * 16, 4 * (16 * 16 + 16) + 2 * 16 * 32 + 32 + 16 + 4 * 16, 16 * 16 + 16
TOTAL = EMBEDDINGS + LAYER + POOLER + 2 * 17
LINE = f"{TOTAL:,} parameters: embeddings {EMBEDDINGS:,}, layers {LAYER:,}, pooler {POOLER}, heads 34"


def test_all_commands_report_the_same_parameter_count(trained, trained_flags, classify, tmp_path, capfd, run_folder):
    assert doctor.main([str(trained)]) == 0
    assert f": {LINE}\n" in capfd.readouterr().err
    assert convert_checkpoint.main([f"--from={trained}", f"--to={tmp_path / 'hf'}"]) == 0
    assert f"{LINE}\n" in capfd.readouterr().err
    done = classify(*trained_flags, "--dry_run", f"--output_dir={tmp_path / 'out'}")
    assert f"  model: {LINE}\n" in done.err
    counts = {"total": TOTAL, "embeddings": EMBEDDINGS, "layers": LAYER, "pooler": POOLER, "heads": 34}
    for engine in ("tensorflow", "onnxruntime"):
        assert Classifier.load(trained, engine=engine).summary() == counts
    assert LINE in capfd.readouterr().out
    assert run_folder(trained).report()["parameters"] == counts
    assert f"<dt>parameters</dt><dd><bdi>{TOTAL:,}</bdi>" in (trained / "report.html").read_text(encoding="utf-8")


def test_the_built_in_model_and_this_machine(capfd):
    assert doctor.main([]) == 0
    told = capfd.readouterr().err
    lines = ("versions: bert_cli ", "devices: 1 CPU, ", "memory: ", "free disk: ", "extras: ", "model: ")
    for line in (*lines, "network: BERT; heads: masked_lm"):
        assert re.search(f"^{line}", told, re.MULTILINE), line
    assert "5,927,440 parameters: embeddings 2,692,096, layers 3,159,040, heads 76,304" in told


@pytest.mark.parametrize("flag", ["", "--bert_config_file="])
def test_a_config_without_weights(flag, tmp_path, capfd):
    """BERT-Base has 110M parameters in its paper."""
    path = tmp_path / "bert_config.json"
    path.write_text(json.dumps(BASE), encoding="utf-8")
    assert doctor.main([f"{flag}{path}"]) == 0
    check_message(capfd.readouterr().err, "model: ")


def test_init_checkpoint_names_the_model_as_in_other_commands(trained, capfd):
    assert doctor.main([f"--init_checkpoint={trained}"]) == 0
    assert f": {LINE}\n" in capfd.readouterr().err


def test_refusals(tmp_path, capfd):
    assert doctor.main([str(tmp_path / "no")]) == 1
    assert f"{tmp_path / 'no'}: no checkpoint there" in capfd.readouterr().err
    assert doctor.main(["a", "b"]) == 1
    assert "a, b: one model is looked at; name one" in capfd.readouterr().err


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_bert_lists_the_commands(words, capsys):
    assert main(words) == 0
    told = capsys.readouterr().out
    assert all(f"\n  {command} " in told for command in COMMANDS)


def test_bert_ends_quietly_if_its_pipe_is_closed():
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "bert_cli"], stdout=write, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_bert_calls_a_command(capsys):
    assert main(["classify", "--help"]) == 0
    assert "bert-classify --task_name=cola" in capsys.readouterr().out
    assert main(["bert-extract-features", "--no_such"]) == 1
    check_message(capsys.readouterr().err, "bert-extract-features: ")
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("bert_cli ")
    assert main(["clasify"]) == 1
    check_message(capsys.readouterr().err, "bert: ")
    assert main(["nothing"]) == 1
    check_message(capsys.readouterr().err, "bert: ")


def test_a_broken_tensorflow_leaves_the_other_findings(tmp_path, monkeypatch, capfd):
    (tmp_path / "tensorflow.py").write_text('raise ImportError("libcudart.so.12: cannot open it")', encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "tensorflow", raising=False)
    assert doctor.main([]) == 1
    *lines, last = capfd.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "versions", "devices", "memory", "free disk", "extras", "vectors of files", "model", "network",
    ]  # fmt: skip
    assert last == (
        "bert-doctor: error: the package tensorflow cannot be imported: libcudart.so.12: cannot open it; "
        "pip install --force-reinstall tensorflow may help"
    )
