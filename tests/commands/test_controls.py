"""Training controls as flags: killed runs, remembered values, exports, and changed runs."""

import importlib
import shutil

import numpy as np
import pytest

from bert_cli import Classifier, convert_checkpoint, export_model, run_tagging
from bert_cli.flags.option import deciding_values, every_flag
from bert_cli.run_classifier import main
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.pretraining import PretrainSettings
from bert_cli.settings.squad import SquadSettings
from bert_cli.settings.tagging import TagSettings
from tests.commands import helpers, squad_run, tag_run
from tests.commands.conftest import write_cola
from tests.commands.test_pretrain import write_text

SHARED = {
    "freeze_encoder", "freeze_layers", "layerwise_lr_decay", "optimizer", "weight_decay", "lr_schedule",
    "gradient_accumulation_steps", "hidden_dropout_prob", "attention_dropout_prob", "loss", "focal_gamma", "label_smoothing",
}  # fmt: skip
OF_LABELS = {"classifier_dropout", "class_weights"}
CONTROLS = {
    "head_input": "mean", "loss": "focal", "focal_gamma": 1.0, "class_weights": "1=3", "label_smoothing": 0.1,
    "optimizer": "nadam", "weight_decay": 0.02, "lr_schedule": "cosine", "gradient_accumulation_steps": 2,
    "layerwise_lr_decay": 0.8, "freeze_layers": 0, "hidden_dropout_prob": 0.2, "attention_dropout_prob": 0.0,
    "classifier_dropout": 0.3,
}  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (ClassifySettings, SHARED | OF_LABELS | {"head_input"}),
        (TagSettings, SHARED | OF_LABELS),
        (SquadSettings, SHARED),
        (PretrainSettings, SHARED),
    ],
)
def test_every_training_command_has_the_controls(settings, expected):
    names = {flag.name for flag in every_flag(settings)}
    every = SHARED | OF_LABELS | {"head_input"}
    assert names & every == expected
    assert deciding_values(settings()).keys() & every == expected
    assert CONTROLS.keys() | {"freeze_encoder"} == every


@pytest.fixture(scope="module")
def runs(model_flags, tmp_path_factory):
    """Flags, and the output_dir of a run with all controls."""
    folder = tmp_path_factory.mktemp("controls")
    flags = ["--task_name=cola", f"--data_dir={write_cola(folder / 'cola')}", *model_flags, "--num_train_epochs=3"]
    flags += [
        "--do_train",
        "--do_predict",
        "--save_checkpoints_steps=8",
        "--keep_moments=all",
        *helpers.words(CONTROLS),
    ]
    assert main([*flags, f"--output_dir={folder / 'whole'}"]) == 0
    return flags, folder / "whole"


@pytest.mark.slow
def test_stopped_run_resumes_bit_for_bit(runs, run_folder, tmp_path):
    (flags, whole), stopped = runs, tmp_path / "part"
    with helpers.interrupted_after("saved"):
        assert main([*flags, f"--output_dir={stopped}"]) == 130
    assert run_folder(stopped).checkpoints() == [8]
    assert main([*flags, f"--output_dir={stopped}"]) == 0
    helpers.assert_same_tensors(run_folder(stopped).tensors(18), run_folder(whole).tensors(18))
    assert (stopped / "test_results.tsv").read_bytes() == (whole / "test_results.tsv").read_bytes()
    assert (whole / "bert_config.json").read_text() == (stopped / "bert_config.json").read_text()


def test_run_resumes_bit_for_bit_if_recomputation_is_switched_on(runs, run_folder, tmp_path):
    """The run starts from a copy that has only the first checkpoint, as if stopped after it."""
    (flags, whole), stopped = runs, tmp_path / "part"
    shutil.copytree(whole, stopped, ignore=shutil.ignore_patterns("model.ckpt-16.*", "model.ckpt-18.*", "checkpoint"))
    assert run_folder(stopped).checkpoints() == [8]
    assert main([*flags, "--recompute=layers", "--nodo_predict", f"--output_dir={stopped}"]) == 0
    helpers.assert_same_tensors(run_folder(stopped).tensors(18), run_folder(whole).tensors(18))
    assert "--recompute=layers" in (stopped / "flags.txt").read_text().splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["run_tagging", "run_squad", "run_pretraining"])
def test_other_commands_recompute_bit_for_bit(command, two_layer_flags, run_folder, tmp_path):
    text = write_text(tmp_path / "text.txt")
    command_flags = {
        "run_tagging": [f"--data_dir={tag_run.write_data(tmp_path / 'tags')}"],
        "run_squad": ["--max_query_length=16", f"--train_file={squad_run.write_data(tmp_path / 'questions.json')}"],
        "run_pretraining": [f"--input_file={text}", "--num_train_steps=6", "--num_warmup_steps=2"],
    }
    flags = [flag for flag in two_layer_flags if not flag.startswith("--num_train_epochs")]
    flags += ["--do_train", "--max_seq_length=40", *command_flags[command]]
    flags += [] if command == "run_pretraining" else ["--num_train_epochs=1"]
    for name in ("none", "layers"):
        module = importlib.import_module(f"bert_cli.{command}")
        assert module.main([*flags, f"--recompute={name}", f"--output_dir={tmp_path / name}"]) == 0
    recomputed, plain = run_folder(tmp_path / "layers"), run_folder(tmp_path / "none")
    (step,) = plain.checkpoints()
    helpers.assert_same_tensors(recomputed.tensors(step), plain.tensors(step))


@pytest.mark.slow
def test_leaving_out_a_control_changes_the_run(runs, classify):
    flags, whole = runs
    kept = [
        flag for flag in flags if not flag.startswith(("--loss", "--focal_gamma", "--head_input", "--freeze_layers"))
    ]
    outcome = classify(*kept, f"--output_dir={whole}")
    for change in ("loss was focal, is now cross_entropy", "head_input was mean, is now pooled", "freeze_layers was 0"):
        outcome.assert_refused(change)


def test_the_head_input_is_remembered(runs, run_folder, tmp_path):
    """Both the next run in the directory and Python use it."""
    whole = runs[1]
    expected = run_folder(whole).probabilities()
    predict_flags = [
        "--do_predict",
        f"--init_checkpoint={whole}",
        f"--output_dir={tmp_path / 'out'}",
        "--precision=float32",
    ]
    assert main(predict_flags) == 0
    np.testing.assert_allclose(run_folder(tmp_path / "out").probabilities(), expected, atol=1e-6)
    texts = run_folder(whole).predictions()["text"].tolist()
    classifier = Classifier.load(str(whole), precision="float32")
    np.testing.assert_allclose(classifier.predict(texts).probabilities, expected, atol=1e-6)


@pytest.mark.slow
def test_saved_model_uses_the_head_input(runs, run_folder, tmp_path):
    import tensorflow as tf

    flags = [f"--init_checkpoint={runs[1]}", f"--export_dir={tmp_path / '1'}"]
    assert export_model.main(flags) == 0
    texts = run_folder(runs[1]).predictions()["text"].tolist()
    outputs = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"](tf.constant(texts))
    np.testing.assert_allclose(outputs["probabilities"], run_folder(runs[1]).probabilities(), atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*onnx.*:DeprecationWarning")
@pytest.mark.parametrize("head_input", ["mean", "cls"])
def test_onnx_model_uses_the_head_input(runs, tmp_path, head_input):
    """The export compares the ONNX model with ours and refuses to write a different one."""
    source, flags = runs[1], (runs[1] / "flags.txt").read_text()
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in source.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    (copy / "flags.txt").write_text(flags.replace("--head_input=mean", f"--head_input={head_input}"))
    assert export_model.main(["--format=onnx", f"--init_checkpoint={copy}", f"--export_dir={tmp_path / 'onnx'}"]) == 0


def test_hugging_face_format_cannot_hold_the_head_input(runs, tmp_path, capfd):
    flags = [f"--from={runs[1]}", f"--to={tmp_path / 'hf'}"]
    outcome = helpers.call(capfd, "bert-convert", convert_checkpoint.main, *flags)
    outcome.assert_refused("--head_input=mean", "Hugging Face", "--head=encoder")
    assert helpers.call(capfd, "bert-convert", convert_checkpoint.main, *flags, "--head=encoder").code == 0
    outcome = helpers.call(
        capfd, "bert-convert", convert_checkpoint.main, flags[0], f"--to={tmp_path / 'x' / 'x.ckpt'}"
    )
    assert outcome.code == 0
    assert "flags.txt" in outcome.err


@pytest.mark.parametrize(
    ("flags", "fragments"),
    [
        (("--class_weights=2=5",), ("--class_weights: 2 is not a label", "0, 1")),
        (("--class_weights=x",), ("--class_weights=x", "balanced")),
        (("--freeze_layers=3",), ("--freeze_layers=3: the model has 2 layers",)),
        (("--gradient_accumulation_steps=3",), ("--gradient_accumulation_steps=3", "--train_batch_size=4")),
        (("--optimizer=sgd",), ("--optimizer", "adamw")),
    ],
)
def test_refusals(refused, flags, cola, two_layer_flags, fragments):
    refused(["--task_name=cola", f"--data_dir={cola}", *two_layer_flags, "--do_train", *flags], *fragments)


@pytest.mark.slow
def test_a_tagger_with_weights_and_a_frozen_layer(two_layer_flags, tmp_path, run_folder):
    model_flags = (*two_layer_flags, "--class_weights=balanced", "--freeze_layers=1", "--loss=focal")
    tag_run.train(tmp_path, model_flags)
    out = tmp_path / "out"
    tensors = run_folder(out).tensors(run_folder(out).checkpoints()[-1])
    with_moments = {name.removesuffix("/adam_m") for name in tensors if name.endswith("/adam_m")}
    assert not any(name.startswith(("bert/embeddings", "bert/encoder/layer_0/")) for name in with_moments)
    assert any(name.startswith("bert/encoder/layer_1/") for name in with_moments)
    bad = [*tag_run.phases_of(model_flags), f"--data_dir={tmp_path / 'data'}", "--overwrite_output_dir"]
    bad.append("--class_weights=Q=2")
    assert run_tagging.main([*bad, f"--output_dir={out}"]) == 1
