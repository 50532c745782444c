"""Callbacks of Python programs: calls, stopping, exceptions, and the display in a notebook."""

import contextlib
import io
import json
import logging
import pathlib

import pytest

import bert_cli
from bert_cli import Callback, Classifier
from bert_cli.api import watching
from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG
from bert_cli.outputs.history import read_history
from bert_cli.runs.tasks.classification.task import ClassificationTask
from bert_cli.weights.training_folder import numbered_checkpoints
from tests.commands.conftest import SENTENCES
from tests.snapshots import raises

TEXTS = [text for text, _ in SENTENCES]
LABELS = ["person" if of_people else "animal" for _, of_people in SENTENCES]
STEPS = 8  # steps in the training of `options`


class Record(Callback):
    """Keeps all calls as (method, step or steps, names of metrics)."""

    def __init__(self, last_step: int = STEPS) -> None:
        self.calls: list[tuple] = []
        self.last_step = last_step

    def on_start(self, steps):
        self.calls.append(("start", steps))

    def on_log(self, step, metrics):
        self.calls.append(("log", step, *metrics))
        if step >= self.last_step:
            self.stop()

    def on_evaluate(self, step, metrics):
        self.calls.append(("evaluate", step, "eval_accuracy" in metrics))

    def on_end(self, report):
        self.calls.append(("end", report["global_step"]))


@pytest.fixture(scope="module")
def options(model) -> dict:
    return {
        "vocab_file": str(model / "vocab.txt"),
        "bert_config_file": str(model / "bert_config.json"),
        "max_seq_length": 16,
        "train_batch_size": 4,
        "num_train_epochs": STEPS * 4 / len(TEXTS),
        "precision": "float32",
        "log_steps": 2,
        "report": False,
    }


def fit(options: dict, folder: pathlib.Path | None = None, **changes) -> Classifier:
    return Classifier.fit(TEXTS, LABELS, TEXTS[:5], LABELS[:5], output_dir=folder, **options | changes)


def errors_of_fit(patch: pytest.MonkeyPatch, **arguments) -> str:
    """Return what a training writes to standard error in a program that has not set up a log."""
    # pytest's handlers count as the program's own setup, which is kept.
    patch.setattr(logging.getLogger(), "handlers", [])
    # An earlier command may have set up this package's log.
    patch.setattr(LOG, "handlers", [])
    patch.setattr(LOG, "level", logging.NOTSET)
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        fit(**arguments)
    return errors.getvalue()


@pytest.fixture(scope="module")
def watched(options, tmp_path_factory) -> tuple[pathlib.Path, Record, str]:
    """A training's output_dir, its callback, which stopped an earlier training, and standard error."""
    folder, record = tmp_path_factory.mktemp("watched") / "out", Record()
    record.stop()
    with pytest.MonkeyPatch.context() as patch:
        errors = errors_of_fit(patch, options=options, folder=folder, eval_every="4", callbacks=[record], verbose=1)
    return folder, record, errors


def test_every_line_of_the_history_is_a_call(watched):
    folder, record, _ = watched
    rates = "loss", "learning_rate", "examples_per_second"
    history = read_history(str(folder))
    lines = [
        ("evaluate", entry["step"], True) if "metrics" in entry else ("log", entry["step"], *rates) for entry in history
    ]
    assert [line[:2] for line in lines] == [
        ("log", 2), ("log", 4), ("evaluate", 4), ("log", 6), ("log", 8), ("evaluate", 8),
    ]  # fmt: skip
    best = json.loads((folder / "run_report.json").read_text())["global_step"]
    assert record.calls == [("start", STEPS), *lines, ("end", best)]


def test_stop_ends_the_training_and_keeps_its_weights(options, tmp_path):
    record = Record(last_step=4)
    classifier = fit(options, tmp_path / "out", callbacks=[record])
    assert [call[:2] for call in record.calls] == [("start", 8), ("log", 2), ("log", 4), ("evaluate", 4), ("end", 4)]
    assert list(numbered_checkpoints(str(tmp_path / "out"))) == [4]
    assert classifier.report["global_step"] == 4
    assert len(classifier.predict(TEXTS[:2])) == 2


@pytest.mark.slow  # test_every_line_of_the_history_is_a_call starts with a callback that has stopped
def test_training_after_one_that_a_callback_stopped(options):
    record = Record(last_step=2)
    assert fit(options, callbacks=[record]).report["global_step"] == 2
    record.last_step = STEPS
    assert fit(options, callbacks=[record]).report["global_step"] == STEPS


@pytest.mark.parametrize("method", ["on_start", pytest.param("on_evaluate", marks=pytest.mark.slow)])
def test_an_exception_reaches_the_caller(options, method):
    def prune(*arguments):
        raise LookupError(f"pruned in {method}")

    callback = Callback()
    setattr(callback, method, prune)
    with pytest.raises(LookupError, match=f"pruned in {method}"):
        fit(options, eval_every="4", callbacks=[callback])


def fail_in(place: str, patch: pytest.MonkeyPatch) -> Callback:
    """Return a callback, after the named method, or the next evaluation, was made to fail."""
    callback = Callback()

    def fail(*arguments):
        raise LookupError(f"pruned in {place}")

    if place == "evaluation":
        patch.setattr(ClassificationTask, "evaluate", fail)
    else:
        setattr(callback, place, fail)
    return callback


# Place -> step of the last checkpoint that such a run leaves, and the error's first note.
FAILURES = {
    "on_log": (2, "in Callback.on_log at step 2"),
    "on_evaluate": (4, "in Callback.on_evaluate at step 4"),
    "evaluation": (8, "in the evaluation at step 8"),  # the last step
}


def test_a_failed_callback_or_evaluation_leaves_a_run_that_resumes(options, watched, tmp_path):
    """Each run resumes from the one that failed before it."""
    folder = tmp_path / "out"
    for place, (step, note) in FAILURES.items():
        with pytest.MonkeyPatch.context() as patch:
            callback = fail_in(place, patch)
            with pytest.raises(LookupError, match=f"pruned in {place}") as caught:
                fit(options, folder, eval_every="4", callbacks=[callback])
        assert caught.value.__notes__[0] == note
        assert "goes on from" in caught.value.__notes__[1]
        assert max(numbered_checkpoints(str(folder))) == step
    fit(options, folder, eval_every="4")
    name = f"model.ckpt-{STEPS}.data-00000-of-00001"
    assert (folder / name).read_bytes() == (watched[0] / name).read_bytes()
    assert (folder / "best.json").read_bytes() == (watched[0] / "best.json").read_bytes()
    evaluations = [[line for line in read_history(str(run)) if "metrics" in line] for run in (folder, watched[0])]
    assert [line["metrics"] for line in evaluations[0]] == [line["metrics"] for line in evaluations[1]]


def test_what_is_no_callback_is_refused(options):
    with raises(InputError, "callbacks[1]: "):
        fit(options, callbacks=[Callback(), print_nothing])
    with raises(InputError, "verbose: "):
        fit(options, verbose="yes")


def print_nothing() -> None:
    """Do nothing."""


def test_verbose_1_shows_evaluations_only(watched):
    errors = watched[2]
    assert "eval_accuracy = " in errors
    assert "training 8/8" not in errors


@pytest.mark.slow
@pytest.mark.parametrize(("verbose", "shows_all"), [(0, False), (2, True)])
def test_verbose(verbose, shows_all, options, monkeypatch):
    errors = errors_of_fit(monkeypatch, options=options, verbose=verbose)
    assert ("eval_accuracy = " in errors) == shows_all
    assert ("training 8/8" in errors) == shows_all


class Handle:
    """Keeps the states of one output as IPython's display handle gets them."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def update(self, shown) -> None:
        self.texts.append(shown._repr_html_())


def test_display_in_a_notebook(monkeypatch):
    ipython_display = pytest.importorskip("IPython.display")
    handle = Handle()
    monkeypatch.setattr(ipython_display, "display", lambda shown, display_id: handle)
    display = watching.NotebookDisplay()
    display.on_start(10)
    display.on_log(5, {"loss": 0.5, "learning_rate": 1e-5, "examples_per_second": 812.3})
    display.on_evaluate(5, {"eval_accuracy": 0.75, "eval_loss": 0.25})
    display.on_end({"total_seconds": 61.0})
    assert ["starting" in text for text in handle.texts] == [True, False, False, False]
    assert 'value="5" max="10"' in handle.texts[1]
    assert "loss 0.5000, 812 examples/s" in handle.texts[1]
    assert "<td>0.7500</td>" in handle.texts[2]
    assert "done in 1:01" in handle.texts[3]
    assert repr(display).splitlines() == [
        "training 5/10  done in 1:01", "      eval_accuracy  eval_loss", "step                          ",
        "5              0.75       0.25",
    ]  # fmt: skip


def test_a_plain_process_is_no_notebook():
    assert not watching.is_notebook()
    assert "Callback" in bert_cli.__all__
