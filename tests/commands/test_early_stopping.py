"""Evaluations during training: history.jsonl, the best checkpoint, early stopping, and longer runs."""

import json
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest

from bert_cli import Classifier
from bert_cli.run_classifier import main
from tests.commands.conftest import write_cola
from tests.commands.helpers import assert_same_tensors, interrupted_after
from tests.rows import write_rows
from tests.snapshots import check_message
from tests.waiting import wait_until

WATCHING = [
    "--eval_every=4",
    "--metric_for_best=loss",
    "--early_stopping_patience=2",
    "--num_train_epochs=20",
    "--log_steps=3",
]
RESULTS = ("eval_results.txt", "test_results.tsv", "predictions.tsv", "best.json")


def history(folder: pathlib.Path) -> list[tuple[int, dict | float]]:
    """Return (step, metrics or loss) per line: equal in each run with the same flags."""
    lines = [json.loads(line) for line in (folder / "history.jsonl").read_text(encoding="utf-8").splitlines()]
    return [(line["step"], line.get("metrics", line.get("loss"))) for line in lines]


def evaluations(folder: pathlib.Path) -> dict[int, dict]:
    return {step: values for step, values in history(folder) if isinstance(values, dict)}


@pytest.fixture(scope="module")
def flags(two_layer_flags, tmp_path_factory) -> list[str]:
    # With one layer the best step comes before the first checkpoint, and a stop between the
    # two cannot be tested.
    cola = write_cola(tmp_path_factory.mktemp("cola"))
    phases = ["--do_train", "--do_eval", "--do_predict"]
    return ["--task_name=cola", f"--data_dir={cola}", *two_layer_flags, *phases, *WATCHING]


@pytest.fixture(scope="module")
def watched_once(flags, tmp_path_factory) -> pathlib.Path:
    """A run that stops early; do not change it."""
    folder = tmp_path_factory.mktemp("watched") / "out"
    assert main([*flags, f"--output_dir={folder}"]) == 0
    return folder


@pytest.fixture
def watched(watched_once, tmp_path) -> pathlib.Path:
    return pathlib.Path(shutil.copytree(watched_once, tmp_path / "watched"))


def test_it_stops_after_two_evaluations_without_a_better_one(watched, run_folder):
    losses = {step: metrics["loss"] for step, metrics in evaluations(watched).items()}
    last = max(losses)
    assert list(losses) == list(range(4, last + 1, 4))
    assert last < 120  # the last step of 20 epochs
    best = min(losses, key=losses.get)
    assert best == last - 8
    assert json.loads((watched / "best.json").read_text()) == {
        "folder": "best", "step": best, "metric": "loss", "value": losses[best],
    }  # fmt: skip
    assert run_folder(watched / "best").checkpoints() == [best]
    assert run_folder(watched).checkpoints()[-1] == last
    results = run_folder(watched).eval_results()
    assert results["global_step"] == best
    assert {name: results[name] for name in evaluations(watched)[best]} == pytest.approx(evaluations(watched)[best])
    report = run_folder(watched).report()
    assert (report["last_step"], report["global_step"], report["stopped_early"]) == (last, best, True)
    steps = [step for step, values in history(watched) if isinstance(values, float)]
    assert steps == list(range(3, last + 1, 3))


@pytest.mark.slow  # test_training_run.py has a callback that predicts and does not change the training
def test_evaluations_do_not_change_training(trained_once, tmp_path, classify, run_folder):
    """The weights with evaluations between steps are the same, bit for bit."""
    out = tmp_path / "out"
    outcome = classify(*trained_once[1], "--eval_every=4", f"--output_dir={out}")
    assert outcome.code == 0, outcome.err
    assert outcome.err.count("evaluation at step") == 8
    assert list(evaluations(out)) == [4, 8, 12, 16, 20, 24, 28, 30]
    for step in (10, 20, 30):
        assert_same_tensors(run_folder(out).tensors(step), run_folder(trained_once[0]).tensors(step))


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param("evaluation at step 16", marks=pytest.mark.slow),
        pytest.param("model.ckpt-10", marks=pytest.mark.slow),
        pytest.param("training stops", marks=pytest.mark.slow),
    ],
)
def test_stopped_run_ends_with_the_same_best_checkpoint(watched_once, flags, tmp_path, classify, run_folder, moment):
    """Moments: after a checkpoint, with a later best checkpoint, and when training stops early."""
    out = tmp_path / "out"
    with interrupted_after(moment):
        assert classify(*flags, f"--output_dir={out}").code == 130
    outcome = classify(*flags, f"--output_dir={out}")
    assert outcome.code == 0, outcome.err
    assert "resuming from" in outcome.err
    assert evaluations(out) == evaluations(watched_once)
    assert [step for step, _ in history(out)] == [step for step, _ in history(watched_once)]
    last = run_folder(watched_once).checkpoints()[-1]
    assert_same_tensors(run_folder(out).tensors(last), run_folder(watched_once).tensors(last))
    assert run_folder(out).names() == run_folder(watched_once).names()
    for name in RESULTS:
        assert (out / name).read_bytes() == (watched_once / name).read_bytes()


def test_early_stopped_run_is_finished(watched, flags, classify, snapshot):
    before = snapshot(watched)
    outcome = classify(*flags, f"--output_dir={watched}", "--nodo_predict")
    assert outcome.code == 0, outcome.err
    assert "training is already finished (" in outcome.err
    assert "stopped early)" in outcome.err
    changed = {name for name, stat in snapshot(watched).items() if before.get(name) != stat}
    written = {"run_report.json", "eval_results.txt", "eval_examples.jsonl", "report.html", "best.json", "run.json"}
    assert changed <= {".", "best", "best/checkpoint"} | written


def test_later_runs_use_the_best_checkpoint(watched, classify, run_folder):
    expected, last = (watched / "test_results.tsv").read_bytes(), run_folder(watched).checkpoints()[-1]
    predict = ("--do_predict", f"--output_dir={watched}", "--precision=float32")
    outcome = classify(*predict)
    assert outcome.code == 0, outcome.err
    check_message(outcome.err, watched, "is taken")
    assert (watched / "test_results.tsv").read_bytes() == expected
    texts = run_folder(watched).predictions()["text"].tolist()
    for path in (watched, watched / "best"):
        predictions = Classifier.load(path, precision="float32").predict(texts)
        assert predictions.probabilities == pytest.approx(run_folder(watched).probabilities(), abs=1e-6)
    assert classify(*predict, f"--init_checkpoint={watched / f'model.ckpt-{last}'}").code == 0
    assert (watched / "test_results.tsv").read_bytes() != expected


@pytest.mark.slow
def test_overwriting_run_without_early_stopping_removes_the_best_checkpoint(
    watched, trained_flags, classify, run_folder
):
    flags = ("--num_train_epochs=1", "--nodo_eval", "--nodo_predict", "--overwrite_output_dir")
    assert classify(*trained_flags, *flags, f"--output_dir={watched}").code == 0
    assert {"best", "best.json", "eval_results.txt"}.isdisjoint(run_folder(watched).names())


@pytest.mark.slow
def test_a_finished_run_is_made_longer(trained, trained_flags, classify, run_folder):
    """30 steps and 6 more: the rate rises again, since warm-up is not a whole number of steps."""
    longer = [*trained_flags, f"--output_dir={trained}", "--num_train_epochs=6", "--log_steps=1"]
    with interrupted_after("training 34/36"):
        outcome = classify(*longer, "--save_checkpoints_steps=1")
    check_message(outcome.err, "36 steps")
    outcome = classify(*longer)
    assert outcome.code == 0, outcome.err
    assert "extended" not in outcome.err
    assert "resuming from" in outcome.err
    lines = [json.loads(line) for line in (trained / "history.jsonl").read_text(encoding="utf-8").splitlines()]
    rates = {line["step"]: line["learning_rate"] for line in lines if "loss" in line and line["step"] > 30}
    assert rates == pytest.approx({30 + n: 0.003 * (1 - (n - 1) / 6) for n in range(1, 7)}, rel=1e-5)
    assert run_folder(trained).eval_results()["global_step"] == 36
    manifest = json.loads((trained / "run.json").read_text(encoding="utf-8"))
    assert [manifest[key] for key in ("num_train_epochs", "steps", "plan_from")] == [6.0, 36, 30]
    classify(*trained_flags, f"--output_dir={trained}").assert_refused()


@pytest.mark.parametrize(
    ("useless_flags", "fragment"),
    [
        (["--eval_every=0"], "--eval_every=0: "),
        (
            ["--eval_every=3", "--metric_for_best=rmse"],
            "--metric_for_best=rmse: ",
        ),
    ],
)
def test_useless_flags_are_refused(trained_flags, refused, useless_flags, fragment):
    refused([*trained_flags, *useless_flags], fragment)


def numbers(folder: pathlib.Path, rows: list[tuple[str, float]], **values) -> list[str]:
    """Return flags for a regression that is trained and evaluated on these texts and numbers."""
    path = write_rows(folder / "rows.tsv", [("text", "label"), *rows])
    values = {"train_file": path, "dev_file": path, "output_dir": folder / "out"} | values
    flags = ["--problem_type=regression", "--do_train", "--do_eval", "--eval_every=1", "--num_train_epochs=1"]
    return [*flags, *(f"--{name}={value}" for name, value in values.items())]


def test_equal_predictions_have_no_best_checkpoint(tmp_path, classify, model_flags, run_folder):
    """Equal texts have equal predictions, so all steps are equal."""
    flags = numbers(tmp_path, [("the dog sees a cat .", number / 2) for number in range(8)])
    outcome = classify(*model_flags, *flags)
    assert outcome.code == 0, outcome.err
    assert "eval_pearson is undefined: all predictions are equal" in outcome.err
    assert "the best so far" not in outcome.err
    assert outcome.err.count("warning: no evaluation defines eval_pearson") == 1
    assert not (tmp_path / "out" / "best").exists()
    run = run_folder(tmp_path / "out")
    assert "eval_pearson" not in run.eval_results()
    assert run.report()["global_step"] == run.report()["last_step"]
    second_outcome = classify(*model_flags, *flags)
    assert second_outcome.code == 0, second_outcome.err
    assert "training is already finished" in second_outcome.err


def test_equal_numbers_are_refused_before_the_first_step(tmp_path, refused, model_flags):
    flags = numbers(tmp_path, [("a dog", 2.5), ("a cat", 2.5)])
    refused([*model_flags, *flags], "--metric_for_best=eval_pearson: ")
    refused([*model_flags, *flags, "--metric_for_best=spearman"])


def test_another_metric_is_another_run(watched, flags, classify):
    outcome = classify(*flags, f"--output_dir={watched}", "--metric_for_best=mcc")
    outcome.assert_refused()


@pytest.mark.slow
def test_killed_run_ends_with_the_same_best_checkpoint(flags, tmp_path, run_folder):
    """The run is killed by SIGKILL while it writes the best checkpoint."""
    flags = [*flags, "--eval_every=1", "--early_stopping_patience=0", "--num_train_epochs=25", "--log_steps=1"]
    command = [sys.executable, "-m", "bert_cli.run_classifier", *flags]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen([*command, f"--output_dir={killed}"], stderr=subprocess.DEVNULL)
    wait_until((killed / "model.ckpt-10.index").exists)
    wait_until(lambda: process.poll() is not None or list(killed.glob("best/.writing-*")))
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = subprocess.run([*command, f"--output_dir={killed}"], capture_output=True, text=True, check=True)
    assert "resuming from" in done.stderr
    subprocess.run([*command, f"--output_dir={whole}"], capture_output=True, check=True)
    assert evaluations(killed) == evaluations(whole)
    assert_same_tensors(run_folder(killed).tensors(150), run_folder(whole).tensors(150))
    for name in RESULTS:
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
    assert {path.name for path in (killed / "best").iterdir()} == {path.name for path in (whole / "best").iterdir()}
