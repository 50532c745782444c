"""Helpers for tests of commands: calls, their outcomes, refusals, interruptions and written files."""

import contextlib
import dataclasses
import json
import logging
import pathlib

import numpy as np
import pandas as pd

from bert_cli.base.log import inform_once
from tests.built_once import snapshot
from tests.snapshots import check_message


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Exit code, standard output and standard error of a command."""

    command: str
    code: int
    out: str
    err: str

    @property
    def last_line(self) -> str:
        return self.err.rstrip("\n").rpartition("\n")[2]

    @property
    def lines(self) -> list[str]:
        """Return the lines on standard error."""
        return self.err.splitlines()

    def assert_refused(self, *fragments: object, code: int = 1) -> None:
        """Check the exit code, that the last line has all `fragments` and is the only error, and its stored text."""
        assert self.code == code, self.err
        assert self.last_line.startswith(f"{self.command}: error: "), self.err
        assert self.err.count(f"{self.command}: error: ") == 1
        assert "Traceback" not in self.err
        assert self.out == ""
        check_message(self.last_line, *fragments)


def words(flags: dict[str, object]) -> list[str]:
    """Return --name=value for each flag, except for flags with the value None."""
    return [f"--{name}={value}" for name, value in flags.items() if value is not None]


def call(capfd, command: str, main, *arguments: object) -> Outcome:
    """Call a command's `main`, which logs like a new process."""
    inform_once.cache_clear()
    capfd.readouterr()
    code = main([str(argument) for argument in arguments])
    return Outcome(command, code, *capfd.readouterr())


def refused_in_any_folder(call_command, folder: pathlib.Path, result: str):
    """Return check(flags, *fragments), which tests that the command refuses.

    It calls the command with a missing output_dir, and with one that has files.

    Args:
        call_command: calls the command with flags.
        folder: directory for both output_dirs.
        result: name of a file in the second output_dir.
    """

    def check(flags, *fragments):
        missing, present = folder / "no" / "out", folder / "present"
        present.mkdir(exist_ok=True)
        (present / "notes.txt").write_text("mine", encoding="utf-8")
        (present / result).write_text("0.5\t0.5\n", encoding="utf-8")
        before = snapshot(present)
        for output_dir in (missing, present):
            call_command(f"--output_dir={output_dir}", *flags).assert_refused(*fragments)
        assert not missing.parent.exists()
        assert snapshot(present) == before

    return check


# A dry run logs this line after it has read its input, and before it compiles the first step.
DRY_RUN = "***** Dry run *****"


class _InterruptAfter(logging.Handler):
    def __init__(self, text: str):
        super().__init__()
        self.text = text

    def emit(self, record):
        if self.text in record.getMessage():
            raise KeyboardInterrupt


@contextlib.contextmanager
def interrupted_after(text: str):
    """Raise KeyboardInterrupt in the block, as Ctrl-C does, when `text` is logged."""
    handler = _InterruptAfter(text)
    logging.getLogger("bert_cli").addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger("bert_cli").removeHandler(handler)


def assert_same_tensors(actual: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(actual[name], value, err_msg=name)


def as_problem(trained: pathlib.Path, folder: pathlib.Path, problem_type: str) -> pathlib.Path:
    """Return a copy of a two-label run's model with another problem type.

    It has the same variables; a regression has only the first output.
    """
    import tensorflow as tf

    from bert_cli.weights.formats.checkpoint_writer import write_tf1

    reader = tf.train.load_checkpoint(str(trained))
    names = [name for name in reader.get_variable_to_shape_map() if "adam" not in name and name != "global_step"]
    tensors = {name: reader.get_tensor(name) for name in names}
    folder.mkdir()
    flags = (trained / "flags.txt").read_text(encoding="utf-8").replace("--task_name=cola\n", "")
    (folder / "flags.txt").write_text(flags.replace("=single_label", f"={problem_type}"), encoding="utf-8")
    for name in ("vocab.txt", "bert_config.json", *["labels.txt"] * (problem_type != "regression")):
        (folder / name).write_bytes((trained / name).read_bytes())
    if problem_type == "regression":
        tensors |= {name: tensors[name][:1] for name in ("output_weights", "output_bias")}
    write_tf1(str(folder / "model.ckpt-30"), tensors)
    return folder


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """Files of a run in its output_dir, read by other means than ours."""

    path: pathlib.Path

    def names(self) -> set[str]:
        return {path.name for path in self.path.iterdir()}

    def checkpoints(self) -> list[int]:
        """Return the step numbers N of the complete checkpoints model.ckpt-N, ascending."""
        return sorted(
            int(path.stem.partition("-")[2])
            for path in self.path.glob("model.ckpt-*.index")
            if path.with_name(f"{path.stem}.data-00000-of-00001").exists()
        )

    def tensors(self, number: int) -> dict[str, np.ndarray]:
        import tensorflow as tf  # after setup_tensorflow

        reader = tf.train.load_checkpoint(str(self.path / f"model.ckpt-{number}"))
        return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}

    def probabilities(self) -> np.ndarray:
        return np.loadtxt(self.path / "test_results.tsv", ndmin=2)

    def predictions(self) -> pd.DataFrame:
        return pd.read_csv(
            self.path / "predictions.tsv",
            sep="\t",
            keep_default_na=False,
            dtype={"id": str, "label": str},
        )

    def eval_results(self) -> dict[str, float]:
        lines = (self.path / "eval_results.txt").read_text(encoding="utf-8").splitlines()
        return {name: float(value) for name, _, value in (line.partition(" = ") for line in lines)}

    def report(self) -> dict:
        return json.loads((self.path / "run_report.json").read_text(encoding="utf-8"))
