"""--lora_rank: what is trained, saved and resumed, and the files for peft."""

import json
import pathlib
import shutil

import numpy as np
import pytest

from bert_cli import run_classifier, run_squad, run_tagging
from bert_cli.model.lora import LORA_TARGETS
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.path import find_checkpoint
from bert_cli.weights.variables import LORA_A, LORA_B, LORA_BASE, is_training_state
from tests.commands import helpers, squad_run, tag_run
from tests.commands.conftest import write_cola

TARGETS = ("query", "intermediate")


def train(folder: pathlib.Path, base: pathlib.Path) -> None:
    """Train 6 steps from a Hugging Face directory, with two checkpoints, into folder / "out"."""
    assert run_classifier.main(flags_of(folder, base)) == 0


def flags_of(folder: pathlib.Path, base: pathlib.Path, *more: str) -> list[str]:
    data = folder / "cola" if (folder / "cola").exists() else write_cola(folder / "cola")
    return [
        "--task_name=cola", f"--data_dir={data}", f"--init_checkpoint={base}", "--do_train", "--num_train_epochs=1",
        "--train_batch_size=4", "--save_checkpoints_steps=3", "--keep_moments=all", "--learning_rate=0.01",
        "--max_seq_length=32", "--precision=float32", "--noreport", "--lora_rank=2",
        f"--lora_targets={','.join(TARGETS)}", f"--output_dir={folder / 'out'}", *more,
    ]  # fmt: skip


@pytest.fixture(scope="session")
def base(built_once, trained_two_layers_once) -> pathlib.Path:
    """A Hugging Face directory of an encoder with two layers."""

    def write(folder: pathlib.Path) -> None:
        from bert_cli import convert_checkpoint

        flags = [f"--from={trained_two_layers_once}", f"--to={folder / 'hf'}", "--head=encoder"]
        assert convert_checkpoint.main(flags) == 0

    return built_once("lora_base", write) / "hf"


@pytest.fixture(scope="session")
def trained_adapter(built_once, base) -> pathlib.Path:
    """The directory of `train`; do not change it."""
    return built_once("lora", lambda folder: train(folder, base))


def tensors_of(path) -> dict[str, np.ndarray]:
    reader = open_checkpoint(find_checkpoint(str(path)))
    return {name: reader.read(name) for name in reader.shapes}


def test_only_adapters_pooler_and_head_are_trained(trained_adapter, base):
    before, after = tensors_of(base), tensors_of(trained_adapter / "out")
    moments = {name.removesuffix("/adam_m") for name in after if name.endswith("/adam_m")}
    adapted = {name.removesuffix(LORA_A) for name in after if name.endswith(LORA_A)}
    assert adapted == {
        f"bert/encoder/layer_{layer}/{LORA_TARGETS[target]}/kernel" for layer in range(2) for target in TARGETS
    }
    rest = {"bert/pooler/dense/kernel", "bert/pooler/dense/bias", "output_weights", "output_bias"}
    assert moments == rest | {f"{name}{ending}" for name in adapted for ending in (LORA_A, LORA_B)}
    for name, values in before.items():
        if name in adapted:
            change = 4.0 * after[f"{name}{LORA_A}"] @ after[f"{name}{LORA_B}"]
            assert np.abs(change).max() > 1e-3
            np.testing.assert_array_equal(after[f"{name}{LORA_BASE}"], values)
            np.testing.assert_allclose(after[name], values + change, atol=1e-6)
        elif name not in rest:
            np.testing.assert_array_equal(after[name], values)


def test_peft_files_are_the_same_model(trained_adapter, base, tmp_path):
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    for name in ("adapter_config.json", "adapter_model.safetensors"):
        shutil.copy(trained_adapter / "out" / name, adapter / name)
    config = json.loads((adapter / "adapter_config.json").read_text())
    assert (config["r"], config["lora_alpha"], config["task_type"]) == (2, 8.0, "SEQ_CLS")
    assert config["modules_to_save"] == ["bert.pooler.dense", "classifier"]
    assert config["base_model_name_or_path"] == str(base)
    merged = {
        name: values for name, values in tensors_of(trained_adapter / "out").items() if not is_training_state(name)
    }
    read = tensors_of(adapter)
    assert merged.keys() <= read.keys()
    for name, values in merged.items():
        np.testing.assert_allclose(read[name], values, atol=1e-6)


def test_a_stopped_run_resumes_bit_for_bit(trained_adapter, base, tmp_path):
    shutil.copytree(trained_adapter / "cola", tmp_path / "cola")
    kept = shutil.ignore_patterns("model.ckpt-6.*", "checkpoint", "adapter*")
    shutil.copytree(trained_adapter / "out", tmp_path / "out", ignore=kept)
    assert run_classifier.main(flags_of(tmp_path, base)) == 0
    expected, actual = tensors_of(trained_adapter / "out"), tensors_of(tmp_path / "out")
    assert expected.keys() == actual.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(actual[name], values, name)


def test_best_weights_predict_as_they_were_evaluated(base, tmp_path):
    flags = flags_of(tmp_path, base, "--do_eval", "--eval_every=3", "--overwrite_output_dir")
    assert run_classifier.main(flags) == 0
    again = [f"--init_checkpoint={tmp_path / 'out'}", f"--data_dir={tmp_path / 'cola'}", "--task_name=cola"]
    again += ["--do_eval", "--precision=float32", "--noreport", f"--output_dir={tmp_path / 'again'}"]
    assert run_classifier.main(again) == 0
    first, second = (
        dict(line.split(" = ") for line in (tmp_path / name / "eval_results.txt").read_text().splitlines())
        for name in ("out", "again")
    )
    assert float(second["eval_loss"]) == pytest.approx(float(first["eval_loss"]), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["bert-tag", "bert-squad"])
def test_other_heads(command, base, tmp_path):
    flags = [
        f"--init_checkpoint={base}", "--do_train", "--num_train_epochs=1", "--train_batch_size=4", "--lora_rank=2",
        "--lora_targets=output,key", "--noreport", "--max_seq_length=64", f"--output_dir={tmp_path / 'out'}",
    ]  # fmt: skip
    if command == "bert-tag":
        assert run_tagging.main([*flags, f"--data_dir={tag_run.write_data(tmp_path / 'tags')}"]) == 0
    else:
        questions = squad_run.write_data(tmp_path / "questions.json")
        more = ["--max_query_length=16", f"--train_file={questions}"]
        assert run_squad.main([*flags, *more]) == 0
    config = json.loads((tmp_path / "out" / "adapter_config.json").read_text())
    head = {"bert-tag": ("TOKEN_CLS", "classifier"), "bert-squad": ("QUESTION_ANS", "qa_outputs")}[command]
    assert (config["task_type"], config["modules_to_save"][-1]) == head


@pytest.mark.slow
def test_trials_of_a_sweep_are_those_of_single_runs(base, tmp_path):
    flags = flags_of(tmp_path, base, "--do_eval")
    assert run_classifier.main([*flags, "--num_runs=2"]) == 0
    single = [flag for flag in flags if not flag.startswith("--output_dir")]
    assert run_classifier.main([*single, "--random_seed=12346", f"--output_dir={tmp_path / 'single'}"]) == 0
    helpers.assert_same_tensors(tensors_of(tmp_path / "out" / "run-2"), tensors_of(tmp_path / "single"))
