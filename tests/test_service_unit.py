"""The systemd unit in deploy/, as systemd rates it; tests/tree/deploy.py checks the other files."""

import re
import shutil
import subprocess

import pytest

from tests.house_figures import ROOT


@pytest.mark.skipif(
    not shutil.which("systemd-analyze"), reason="needs systemd-analyze, which no package of Python brings"
)
def test_the_unit_is_sandboxed():
    """systemd-analyze rates the exposure of a unit from 0 to 10."""
    unit = ROOT / "deploy" / "bert-serve.service"
    command = ["systemd-analyze", "security", "--offline=true", "--no-pager", unit]
    rating = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert float(re.search(r"exposure level for bert-serve.service: ([\d.]+)", rating)[1]) < 3
