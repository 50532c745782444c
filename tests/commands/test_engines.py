"""--engine=onnxruntime without TensorFlow: equal results, int8 nearly, and one-line refusals."""

import json
import subprocess
import sys

import numpy as np
import pytest

from bert_cli import Classifier, MaskFiller, extract_features, fill_mask, run_pretraining
from bert_cli.base.errors import InputError
from bert_cli.run_squad import main as squad
from tests.commands import helpers, squad_run
from tests.commands.helpers import as_problem
from tests.onnx.test_runners import likeness
from tests.rows import write_rows
from tests.snapshots import raises

PLAIN, ONNX, INT8 = "tensorflow", "onnxruntime", "int8"
HOW = {
    PLAIN: {"precision": "float32", "engine": "tensorflow"},
    ONNX: {"engine": "onnxruntime"},
    INT8: {"precision": "int8"},
}
FLAGS = {name: helpers.words(flags) for name, flags in HOW.items()}
# Tolerances compared with TensorFlow: a classifier's probabilities, its loss, and other heads.
FAR, FAR_LOSS, FAR_OTHERS = ({ONNX: 1e-5, INT8: far} for far in (0.03, 0.02, 0.05))
TEXTS = ["the old dog sees a cat .", "a bird", "the bird likes a small fish and a horse ."]


def test_a_classifier(trained, trained_flags, classify, run_folder, tmp_path):
    """Its tables, an evaluation with the cost of int8, and a text."""
    data = [flag for flag in trained_flags if flag.startswith(("--data_dir=", "--task_name="))]
    tables = {}
    for name, flags in FLAGS.items():
        out = tmp_path / name
        flags = [*flags, f"--init_checkpoint={trained}", f"--output_dir={out}", "--distribution_strategy=one_device"]
        outcome = classify(*data, *flags, "--do_eval", "--do_predict", "--noreport")
        assert outcome.code == 0, outcome.err
        tables[name] = run_folder(out)
        told = any(line.startswith("Matthews' correlation: ") and line.endswith(" in int8") for line in outcome.lines)
        assert told == (name == INT8)
    plain = tables[PLAIN]
    for name, far in FAR.items():
        np.testing.assert_allclose(tables[name].probabilities(), plain.probabilities(), atol=far)
        ours = tables[name].eval_results()
        assert ours.keys() == plain.eval_results().keys()
        assert ours["eval_loss"] == pytest.approx(plain.eval_results()["eval_loss"], abs=FAR_LOSS[name])
        report = tables[name].report()
        assert (report["precision"], report["devices"]) == (HOW[name].get("precision", "float32"), "1 CPU")
        assert HOW[name].get("engine", ONNX) in report["versions"]


@pytest.mark.parametrize("name", [ONNX, pytest.param(INT8, marks=pytest.mark.slow)])
def test_a_text_is_answered_without_tensorflow(trained, name):
    code = (
        "import sys; from bert_cli.run_classifier import main\n"
        f"code = main(['--output_dir={trained}', '--text=the old dog', *{FLAGS[name]}])\n"
        "print(sorted({'tensorflow', 'keras', 'pandas', 'sklearn', 'scipy'} & set(sys.modules))); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    record, modules = done.stdout.splitlines()
    assert modules == "[]"
    plain = Classifier.load(str(trained), precision="float32").predict(["the old dog"]).probabilities[0]
    assert list(json.loads(record)["probabilities"].values()) == pytest.approx(plain.tolist(), abs=FAR[name])


@pytest.mark.parametrize("problem_type", ["multi_label", "regression"])
def test_other_problem_types_from_python(trained, tmp_path, problem_type):
    folder = as_problem(trained, tmp_path / "out", problem_type)
    predictions = {name: Classifier.load(str(folder), **how).predict(TEXTS) for name, how in HOW.items()}
    for name, far in FAR_OTHERS.items():
        for ours, plain in (
            (predictions[name].values, predictions[PLAIN].values),
            (predictions[name].probabilities, predictions[PLAIN].probabilities),
        ):
            assert (ours is None) == (plain is None)
            if plain is not None:
                np.testing.assert_allclose(ours, plain, atol=far)


def test_windows_of_long_texts(trained):
    """Texts with one, two and many windows, some of equal length."""
    texts = ["a bird", *TEXTS, "the dog sees a cat and " * 5, "a bird likes a small fish and a dog ."]
    predictions = {
        name: Classifier.load(str(trained), **HOW[name], long_text="windows", max_seq_length=8).predict(texts)
        for name in (PLAIN, ONNX)
    }
    np.testing.assert_allclose(predictions[ONNX].probabilities, predictions[PLAIN].probabilities, atol=1e-5)


def test_a_tagger(tagger, tag, tmp_path):
    write_rows(tmp_path / "texts.txt", TEXTS)
    records = {}
    for name, engine in FLAGS.items():
        target = tmp_path / f"{name}.jsonl"
        flags = [f"--output_dir={tagger}", f"--input_file={tmp_path / 'texts.txt'}", f"--output_file={target}"]
        assert tag(*flags, *engine).code == 0
        records[name] = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    assert len(records[PLAIN]) == len(TEXTS)
    entities = {
        name: [
            [(entity["text"], entity["start"], entity["type"]) for entity in record["entities"]] for record in tagged
        ]
        for name, tagged in records.items()
    }
    assert entities[ONNX] == entities[INT8] == entities[PLAIN]


def test_answers(answering, tmp_path):
    trained, data = answering, squad_run.write_data(tmp_path / "predict.json", 2)
    answers = {}
    for name, how in HOW.items():
        out = tmp_path / name
        flags = {"init_checkpoint": trained, "predict_file": data, "output_dir": out, **how}
        assert squad([*helpers.words(flags), "--do_predict"]) == 0
        answers[name] = json.loads((out / "nbest_predictions.json").read_text(encoding="utf-8"))
    assert len(answers[PLAIN]) == 4
    for name, far in FAR_OTHERS.items():
        for question, nbest in answers[PLAIN].items():
            ours = {answer["text"]: answer["probability"] for answer in answers[name][question]}
            assert ours[nbest[0]["text"]] == pytest.approx(nbest[0]["probability"], abs=far)


# The other ones use the same outputs of the encoder.
SLOWER = [pytest.param(pooling, marks=pytest.mark.slow) for pooling in ("max", "cls")]


@pytest.mark.parametrize("pooling", ["mean", "pooler", "none", *SLOWER])
def test_vectors(trained, tmp_path, pooling):
    write_rows(tmp_path / "texts.txt", [*TEXTS, "", "the dog " * 30])
    vectors = {}
    for name, how in HOW.items():
        flags = {"input_file": tmp_path / "texts.txt", "output_file": tmp_path / name, "init_checkpoint": trained}
        flags |= {"pooling": pooling, "max_seq_length": 16, "output_format": "npz", **how}
        if pooling in ("mean", "none"):
            flags["layers"] = "embedding,-1"
        assert extract_features.main([*helpers.words(flags), "--long_text"]) == 0
        with np.load(tmp_path / name) as arrays:
            vectors[name] = {array: arrays[array] for array in arrays.files}
    assert vectors[ONNX].keys() == vectors[INT8].keys() == vectors[PLAIN].keys()
    for array, plain in vectors[PLAIN].items():
        if plain.dtype == np.float32:
            np.testing.assert_allclose(vectors[ONNX][array], plain, atol=1e-5)
            assert np.corrcoef(vectors[INT8][array].ravel(), plain.ravel())[0, 1] > 0.998
        else:
            assert np.array_equal(vectors[ONNX][array], plain)
            assert np.array_equal(vectors[INT8][array], plain)


@pytest.mark.parametrize("name", FAR)
def test_unsupported_uses_are_refused(trained, classify, cola, capfd, tmp_path, name):
    (flag,) = FLAGS[name]
    base = [f"--init_checkpoint={trained}", flag, f"--output_dir={tmp_path / 'out'}"]
    task_flags = [*base, "--task_name=cola", f"--data_dir={cola}"]
    classify(*task_flags, "--do_train").assert_refused("--do_train")
    classify(*task_flags, "--do_eval", "--distribution_strategy=mirrored").assert_refused("on the CPU, alone")
    with pytest.MonkeyPatch.context() as patch:
        workers = {"worker": ["localhost:1", "localhost:2"]}
        patch.setenv("TF_CONFIG", json.dumps({"cluster": workers, "task": {"type": "worker", "index": 0}}))
        classify(*task_flags, "--do_predict").assert_refused("on the CPU, alone")
    assert not (tmp_path / "out").exists()
    outcome = helpers.call(capfd, "", run_pretraining.main, "--do_eval", *base[1:], "--input_file=no.txt")
    assert outcome.code == 1
    assert "value should be one of <auto|" in outcome.last_line


def test_int8_refuses_masked_words_and_attention(trained, capfd):
    shown = ["--show_attention=the dog", "--max_seq_length=16", f"--init_checkpoint={trained}"]
    for main, flags, message in (
        (extract_features.main, shown, "shows no attention"),
        (fill_mask.main, ["a [MASK] ."], "value should be one of <auto|float32|bfloat16|float16>"),
    ):
        outcome = helpers.call(capfd, "", main, *flags, "--precision=int8")
        assert outcome.code == 1
        assert message in outcome.last_line
    with raises(InputError, "precision=int8: "):
        MaskFiller.load(precision="int8")


def test_attention(trained, tmp_path):
    """Probabilities of all layers and heads, for a pair and for windows."""
    write_rows(tmp_path / "texts.txt", [*TEXTS, "the dog ||| a cat ."])
    probabilities = {}
    for name in (PLAIN, ONNX):
        flags = {"input_file": tmp_path / "texts.txt", "output_file": tmp_path / name, "init_checkpoint": trained}
        flags |= {"max_seq_length": 16, "attentions": tmp_path / f"{name}.npz", "layers": "-1", **HOW[name]}
        assert extract_features.main(helpers.words(flags)) == 0
        with np.load(tmp_path / f"{name}.npz") as arrays:
            probabilities[name] = {array: arrays[array] for array in arrays.files}
    assert probabilities[ONNX].keys() == probabilities[PLAIN].keys()
    for array, plain in probabilities[PLAIN].items():
        if plain.dtype == np.float32:
            np.testing.assert_allclose(probabilities[ONNX][array], plain, atol=1e-5)
            np.testing.assert_allclose(plain.sum(axis=-1), 1.0, atol=1e-5)
        else:
            assert np.array_equal(probabilities[ONNX][array], plain)


def test_an_engine_has_its_precisions(trained, classify):
    text = [f"--output_dir={trained}", "--text=a dog"]
    classify(*text, "--engine=tensorflow", "--precision=int8").assert_refused()
    classify(*text, "--engine=onnxruntime", "--precision=bfloat16").assert_refused("--engine=onnxruntime")
    with pytest.raises(InputError, match="not in float16"):
        Classifier.load(str(trained), precision="float16", engine="onnxruntime")


def test_auto_uses_onnxruntime_for_texts_and_tensorflow_for_files(trained, trained_flags, classify, tmp_path):
    assert "precision float32, by onnxruntime" in classify(f"--output_dir={trained}", "--text=a dog").err
    data = [flag for flag in trained_flags if flag.startswith(("--data_dir=", "--task_name="))]
    flags = [f"--init_checkpoint={trained}", f"--output_dir={tmp_path}", "--do_predict", "--precision=float32"]
    assert "by onnxruntime" not in classify(*data, *flags).err
    strategy = "--distribution_strategy=one_device"
    assert "by onnxruntime" not in classify(f"--output_dir={trained}", "--text=a dog", strategy).err


@pytest.mark.parametrize(("precision", "far"), [("float32", 1e-5), ("bfloat16", 0.02)])
def test_openvino(trained, classify, tmp_path, precision, far):
    """Windows of texts, and vectors from the command, compared with onnxruntime."""
    pytest.importorskip("openvino")
    how = {"engine": "openvino", "precision": precision}
    texts = [*TEXTS, "the dog sees a cat and " * 5]
    options = {"long_text": "windows", "max_seq_length": 8}
    ours, plain = (Classifier.load(str(trained), **engine, **options).predict(texts) for engine in (how, HOW[ONNX]))
    np.testing.assert_allclose(ours.probabilities, plain.probabilities, atol=far)
    write_rows(tmp_path / "texts.txt", texts)
    vectors = []
    for number, engine in enumerate((how, HOW[ONNX])):
        flags = {
            "input_file": tmp_path / "texts.txt",
            "output_file": tmp_path / str(number),
            "init_checkpoint": trained,
        }
        flags |= {"pooling": "mean", "output_format": "npy", "max_seq_length": 16, **engine}
        assert extract_features.main([*helpers.words(flags), "--normalize"]) == 0
        vectors.append(np.load(tmp_path / str(number)))
    assert likeness(*vectors) > (1 - 1e-9 if precision == "float32" else 0.999)
    outcome = classify(f"--output_dir={trained}", "--text=a dog", *helpers.words(how))
    assert f"precision {precision}, by openvino" in outcome.err


def test_incomplete_checkpoint(trained, classify, tmp_path):
    last = sorted(trained.glob("model.ckpt-*.data*"))[-1]
    last.write_bytes(last.read_bytes()[:-100])
    start = trained / last.name.partition(".data")[0]
    flags = [f"--init_checkpoint={start}", f"--output_dir={tmp_path}", "--text=a dog", "--precision=int8"]
    classify(*flags).assert_refused("damaged or cut short")
