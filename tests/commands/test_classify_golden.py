"""bert-classify gives the files of Google's run_classifier.py for the same command line."""

import json
import shutil

import numpy as np
import pytest


def read_eval(path):
    pairs = (line.split(" = ") for line in path.read_text(encoding="utf-8").splitlines())
    return {name: float(value) for name, value in pairs}


@pytest.mark.parametrize(
    ("home", "task"),
    [
        ("shared", "cola"),
        pytest.param("shared", "mrpc", marks=pytest.mark.slow),
        ("shared", "mnli"),
        ("fixtures", "cola"),
        ("fixtures", "mrpc"),
    ],
)
def test_evaluation_and_prediction_equal_the_original(home, task, request, tmp_path, classify, monkeypatch):
    golden = request.getfixturevalue(home) / "golden" / "classifier"
    command_line = json.loads((golden / task / "flags.json").read_text(encoding="utf-8"))["command_line"]
    output_dir = shutil.copytree(golden / task / "model", tmp_path / "out")
    monkeypatch.chdir(golden)
    outcome = classify(*command_line, f"--output_dir={output_dir}", "--precision=float32")
    assert outcome.code == 0, outcome.err

    expected, actual = read_eval(golden / task / "eval_results.txt"), read_eval(output_dir / "eval_results.txt")
    assert {name: actual[name] for name in expected} == pytest.approx(expected, abs=1e-5)
    expected, actual = (np.loadtxt(folder / "test_results.tsv", ndmin=2) for folder in (golden / task, output_dir))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-5)
