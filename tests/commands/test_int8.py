"""--precision=int8: nearly the predictions and vectors of float32, without TensorFlow, and one line for what it is not for."""

import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest

from bert_cli import Classifier, extract_features, fill_mask, run_pretraining
from bert_cli.run_squad import main as squad
from tests.commands import helpers, squad_run
from tests.commands.helpers import as_problem

pytestmark = pytest.mark.skipif(importlib.util.find_spec("onnx") is None, reason="needs the extra onnx")
TEXTS = ["the old dog sees a cat .", "a bird", "the bird likes a small fish and a horse ."]


def test_a_classifier(trained, trained_flags, classify, run_folder, tmp_path):
    """Its tables, an evaluation with what it costs, and a text."""
    data = [flag for flag in trained_flags if flag.startswith(("--data_dir=", "--task_name="))]
    found = {}
    for precision in ("float32", "int8"):
        out = tmp_path / precision
        flags = [f"--init_checkpoint={trained}", f"--output_dir={out}", f"--precision={precision}"]
        flags += ["--distribution_strategy=one_device"]
        outcome = classify(*data, *flags, "--do_eval", "--do_predict")
        assert outcome.code == 0, outcome.err
        found[precision] = run_folder(out)
    np.testing.assert_allclose(found["int8"].probabilities(), found["float32"].probabilities(), atol=0.03)
    ours, plain = (found[name].eval_results() for name in ("int8", "float32"))
    assert ours.keys() == plain.keys()
    assert ours["eval_loss"] == pytest.approx(plain["eval_loss"], abs=0.02)
    report = found["int8"].report()
    assert (report["precision"], report["devices"]) == ("int8", "1 CPU")
    assert "onnxruntime" in report["versions"]
    assert any(line.startswith("Matthews' correlation: ") and line.endswith(" in int8") for line in outcome.lines)


def test_a_text_is_answered_without_tensorflow(trained):
    code = (
        "import sys; from bert_cli.run_classifier import main\n"
        f"code = main(['--output_dir={trained}', '--text=the old dog', '--precision=int8'])\n"
        "print(sorted({'tensorflow', 'keras', 'pandas', 'sklearn', 'scipy'} & set(sys.modules))); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    record, modules = done.stdout.splitlines()
    assert modules == "[]"
    plain = Classifier.load(str(trained), precision="float32").predict(["the old dog"]).probabilities[0]
    assert list(json.loads(record)["probabilities"].values()) == pytest.approx(plain.tolist(), abs=0.03)


@pytest.mark.parametrize("problem_type", ["multi_label", "regression"])
def test_other_kinds_from_python(trained, tmp_path, problem_type):
    folder = as_problem(trained, tmp_path / "out", problem_type)
    ours, plain = (Classifier.load(str(folder), precision=name).predict(TEXTS) for name in ("int8", "float32"))
    if problem_type == "regression":
        np.testing.assert_allclose(ours.values, plain.values, atol=0.05)
    else:
        np.testing.assert_allclose(ours.probabilities, plain.probabilities, atol=0.05)


def test_a_tagger(tagger, tag, tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    records = {}
    for precision in ("float32", "int8"):
        target = tmp_path / f"{precision}.jsonl"
        flags = [f"--output_dir={tagger}", f"--input_file={tmp_path / 'texts.txt'}", f"--output_file={target}"]
        assert tag(*flags, f"--precision={precision}").code == 0
        records[precision] = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert len(records["int8"]) == len(TEXTS)
    ours, plain = (
        [[(each["text"], each["start"], each["type"]) for each in record["entities"]] for record in records[name]]
        for name in ("int8", "float32")
    )
    assert ours == plain


def test_answers(model, tmp_path):
    trained, data = squad_run.train(model, tmp_path), squad_run.write_data(tmp_path / "predict.json", 2)
    answers = {}
    for precision in ("float32", "int8"):
        out = tmp_path / precision
        flags = {"init_checkpoint": trained, "predict_file": data, "output_dir": out, "precision": precision}
        assert squad([*helpers.words(flags), "--do_predict"]) == 0
        answers[precision] = json.loads((out / "nbest_predictions.json").read_text(encoding="utf-8"))
    assert len(answers["float32"]) == 4
    for name, nbest in answers["float32"].items():
        ours = {each["text"]: each["probability"] for each in answers["int8"][name]}
        assert ours[nbest[0]["text"]] == pytest.approx(nbest[0]["probability"], abs=0.05)


@pytest.mark.parametrize("pooling", ["mean", "max", "cls", "pooler", "none"])
def test_vectors(trained, tmp_path, pooling):
    (tmp_path / "texts.txt").write_text("\n".join([*TEXTS, "", "the dog " * 30]) + "\n", encoding="utf-8")
    found = {}
    for precision in ("float32", "int8"):
        flags = {"input_file": tmp_path / "texts.txt", "output_file": tmp_path / precision, "init_checkpoint": trained}
        flags |= {"pooling": pooling, "max_seq_length": 16, "precision": precision, "output_format": "npz"}
        if pooling in ("mean", "none"):
            flags["layers"] = "embedding,-1"
        assert extract_features.main([*helpers.words(flags), "--long_text"]) == 0
        with np.load(tmp_path / precision) as arrays:
            found[precision] = {name: arrays[name] for name in arrays.files}
    assert found["int8"].keys() == found["float32"].keys()
    for name, plain in found["float32"].items():
        ours = found["int8"][name]
        if plain.dtype == np.float32:
            assert np.corrcoef(ours.ravel(), plain.ravel())[0, 1] > 0.998
        else:
            assert np.array_equal(ours, plain)


def test_what_it_is_not_for(trained, classify, cola, model_flags, capfd, tmp_path):
    base = [f"--init_checkpoint={trained}", "--precision=int8", f"--output_dir={tmp_path / 'out'}"]
    given = [*base, "--task_name=cola", f"--data_dir={cola}"]
    classify(*given, "--do_train").assert_refused("--precision=int8 is for predictions: train with another one")
    classify(*given, "--do_eval", "--distribution_strategy=mirrored").assert_refused("on the CPU, alone")
    classify(*given, "--do_predict", "--long_text=windows").assert_refused("is not for --long_text=windows")
    with pytest.MonkeyPatch.context() as patch:
        workers = {"worker": ["localhost:1", "localhost:2"]}
        patch.setenv("TF_CONFIG", json.dumps({"cluster": workers, "task": {"type": "worker", "index": 0}}))
        classify(*given, "--do_predict").assert_refused("on the CPU, alone")
    assert not (tmp_path / "out").exists()
    shown = ["--show_attention=the dog", "--max_seq_length=16", f"--init_checkpoint={trained}", "--precision=int8"]
    for main, flags, told in (
        (extract_features.main, shown, "shows no attention"),
        (fill_mask.main, ["a [MASK] .", "--precision=int8"], "not for masked words"),
        (run_pretraining.main, ["--do_eval", *base[1:], "--input_file=no.txt"], "not for masked words"),
    ):
        outcome = helpers.call(capfd, "", main, *flags)
        assert outcome.code == 1
        assert told in outcome.last_line


def test_without_the_packages(trained, classify, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    classify(f"--output_dir={trained}", "--text=a dog", "--precision=int8").assert_refused(
        "--precision=int8 needs the package onnx: pip install 'bert_cli[onnx]'"
    )


def test_a_checkpoint_that_is_not_whole(trained, classify, tmp_path):
    last = sorted(trained.glob("model.ckpt-*.data*"))[-1]
    last.write_bytes(last.read_bytes()[:-100])
    start = trained / last.name.partition(".data")[0]
    flags = [f"--init_checkpoint={start}", f"--output_dir={tmp_path}", "--text=a dog", "--precision=int8"]
    classify(*flags).assert_refused("damaged or cut short")
