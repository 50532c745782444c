"""tests/release_trial.py: checks of bert_cli_light, with the packages that it has, and of programs that fail."""

import sys

import pytest

from tests.light_environment import make_light_environment
from tests.release_trial import Trial, TrialError, check_refusal, check_server

LIGHT = """#!/bin/sh
PYTHONPATH={packages} exec {python} -S -c 'import sys; from bert_cli.{module} import main; sys.exit(main())' "$@"
"""


@pytest.fixture
def trial(tmp_path):
    """Make an environment without programs."""
    (tmp_path / "environment" / "bin").mkdir(parents=True)
    return Trial(tmp_path)


def add_program(trial, name, text):
    path = trial.folder / "environment" / "bin" / name
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def test_bert_cli_light_serves_and_refuses_a_training(trial, trained_once):
    packages = make_light_environment(trial.folder / "site")
    for name, module in (("bert-serve", "serve"), ("bert-classify", "run_classifier")):
        add_program(trial, name, LIGHT.format(packages=packages, python=sys.executable, module=module))
    (trial.folder / "run" / "bert_output").symlink_to(trained_once[0])
    check_server(trial)
    check_refusal(trial)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exit 0", "exit code 0 instead of 1"),
        ("echo 'E: error: tensorflow is needed'; echo more; exit 1", "one line that names TensorFlow"),
        ("echo 'E: error: one'; echo 'E: error: tensorflow is needed'; exit 1", "one line that names TensorFlow"),
        ("echo 'E: error: no such file'; exit 1", "one line that names TensorFlow"),
    ],
)
def test_other_refusals_fail(trial, text, message):
    add_program(trial, "bert-classify", f"#!/bin/sh\n{text}\n")
    with pytest.raises(TrialError, match=message):
        check_refusal(trial)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo no model >&2; exit 1", "^no model\nbert-serve: exit code 1, label None$"),
        ("echo serving http://127.0.0.1:1 >&2; exec sleep 100", "^serving http://127.0.0.1:1\nbert-serve: .*refused"),
    ],
)
def test_servers_that_fail(trial, text, message):
    add_program(trial, "bert-serve", f"#!/bin/sh\n{text}\n")
    with pytest.raises(TrialError, match=message):
        check_server(trial)
