"""Programs of tests/reference that run under a Python with transformers, which is not part of the project.

transformers is taken from this environment, or from the Python in TRANSFORMERS_PYTHON.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

REFERENCE = pathlib.Path(__file__).parent / "reference"


def ask(program: str, request: list) -> Any:
    """Run a program of tests/reference on a request, and return its result; skip the test without transformers."""
    python = os.environ.get("TRANSFORMERS_PYTHON") or (importlib.util.find_spec("transformers") and sys.executable)
    if not python:
        pytest.skip("needs transformers, which is not part of the project; TRANSFORMERS_PYTHON names a Python with it")
    # The program must not import bert_cli's packages of the same names from a PYTHONPATH.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [python, str(REFERENCE / program)]
    done = subprocess.run(
        command, input=json.dumps(request), capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
