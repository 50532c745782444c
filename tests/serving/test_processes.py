"""The process that starts and replaces workers."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WITH_AN_ORPHAN = """
import os, signal
from bert_cli.serving.processes import run_workers
from tests.waiting import wait_until
orphan = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 3"], os.environ)
def is_reaped():
    try:
        os.kill(orphan, 0)
    except ProcessLookupError:
        return True
def work():
    wait_until(is_reaped)
    os.kill(os.getppid(), signal.SIGTERM)
    signal.pause()
raise SystemExit(run_workers(1, work, lambda: None))
"""


def test_the_end_of_another_process_is_ignored():
    done = subprocess.run(
        [sys.executable, "-c", WITH_AN_ORPHAN], cwd=ROOT, capture_output=True, text=True, check=False, timeout=100
    )
    assert (done.returncode, done.stderr) == (0, "")
