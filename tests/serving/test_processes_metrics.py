"""The directory that processes share for metrics."""

import os

from bert_cli.serving.processes import METRICS_DIRECTORY, list_this_process, shared_metrics


def test_one_process_does_everything():
    assert list_this_process() == [os.getpid()]


def test_workers_have_files_in_the_directory(monkeypatch):
    # Let monkeypatch restore the variable, which is set in the block.
    monkeypatch.setenv(METRICS_DIRECTORY, "")
    with shared_metrics() as list_processes:
        folder = os.environ[METRICS_DIRECTORY]
        for name in ("gauge_livesum_30.db", "gauge_livesum_4.db", "counter_4.db"):
            open(os.path.join(folder, name), "wb").close()
        assert list_processes() == [os.getpid(), 4, 30]
    assert not os.path.exists(folder)
