"""onnxruntime's telemetry is off unless the user turns it on."""

import os
import subprocess
import sys

import pytest

from bert_cli.runtime.telemetry import turn_off_telemetry

SWITCH = "ORT_DISABLE_TELEMETRY"


@pytest.mark.parametrize(
    ("before", "after"), [(None, "1"), ("", "1"), ("0", "0"), ("false", "false"), ("1", "1"), ("true", "true")]
)
def test_the_users_value_is_kept(monkeypatch, before, after):
    monkeypatch.delenv(SWITCH, raising=False)
    if before is not None:
        monkeypatch.setenv(SWITCH, before)
    turn_off_telemetry()
    assert os.environ[SWITCH] == after


@pytest.mark.parametrize(
    "module",
    [
        "bert_cli",
        "bert_cli.onnx.runners",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("bert_cli.inference.openvino", "bert_cli.doctor")),
    ],
)
def test_importing_any_module_turns_it_off(module):
    code = f"import {module}, os, sys; print(os.environ[{SWITCH!r}], 'onnxruntime' in sys.modules)"
    environment = {name: value for name, value in os.environ.items() if name != SWITCH}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "1 False\n"
