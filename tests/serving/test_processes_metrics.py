"""The directory that processes share for metrics."""

import os

from bert_cli.serving import processes
from bert_cli.serving.processes import METRICS_DIRECTORY, server_processes, shared_metrics


def test_one_process_does_everything():
    assert server_processes() == [os.getpid()]


def test_workers_have_files_in_the_directory(monkeypatch):
    monkeypatch.setattr(processes, "SHARING", processes._Sharing())
    # Let monkeypatch restore the variable, which is set in the block.
    monkeypatch.setenv(METRICS_DIRECTORY, "")
    with shared_metrics():
        folder = os.environ[METRICS_DIRECTORY]
        for name in ("gauge_livesum_30.db", "gauge_livesum_4.db", "counter_4.db"):
            open(os.path.join(folder, name), "wb").close()
        assert server_processes() == [os.getpid(), 4, 30]
    assert not os.path.exists(folder)
