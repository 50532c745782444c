"""Start of several processes in TF_CONFIG: some are late, missing or have a wrong address."""

import json
import socket
import threading

import pytest

from bert_cli.base.errors import InputError, TemporaryError
from bert_cli.runtime import cluster as cluster_module
from bert_cli.runtime.cluster import wait_for_workers
from tests.waiting import reserved_addresses, wait_until


@pytest.fixture
def cluster(monkeypatch):
    """Return a function that sets TF_CONFIG for a worker, and forget earlier meetings."""
    wait_for_workers.cache_clear()
    monkeypatch.setattr(cluster_module, "_PAUSE", 0.02)

    def set_cluster(index: int, addresses: list[str]) -> None:
        task = {"type": "worker", "index": index}
        monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {"worker": addresses}, "task": task}))

    yield set_cluster
    wait_for_workers.cache_clear()


@pytest.fixture
def addresses():
    with reserved_addresses(2) as addresses:
        yield addresses


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


def test_a_late_process_is_waited_for(cluster, addresses, monkeypatch, caplog):
    monkeypatch.setattr(cluster_module, "_LOGGED_EVERY", 0.1)
    cluster(0, addresses)
    waiting = threading.Thread(target=wait_for_workers, args=(60,))
    waiting.start()
    message = f"waiting for worker 1 ({addresses[1]}: Connection refused): 0 of 60 seconds"
    wait_until(lambda: message in caplog.messages, lambda: caplog.messages)
    assert waiting.is_alive()
    with socket.create_server(("127.0.0.1", port_of(addresses[1]))):
        waiting.join(10)
    assert not waiting.is_alive()
    with socket.create_server(("127.0.0.1", port_of(addresses[0]))):
        pass  # the process's address is free again


def test_a_missing_process_is_an_error(cluster, addresses):
    cluster(1, addresses)
    with pytest.raises(
        TemporaryError,
        match=rf"^worker 0 \({addresses[0]}: Connection refused\) did not connect within 0.1 seconds; start all",
    ):
        wait_for_workers(0.1)


def test_a_port_that_is_in_use(cluster, addresses):
    cluster(0, addresses)
    message = "which TF_CONFIG gives to worker 0, cannot be used"
    with socket.create_server(("", port_of(addresses[0]))), pytest.raises(InputError, match=message):
        wait_for_workers(1)


@pytest.mark.parametrize("alias", ["localhost", "0.0.0.0", "127.0.0.2"])
def test_another_name_of_this_process_is_refused(cluster, addresses, alias):
    port = port_of(addresses[0])
    cluster(0, [addresses[0], f"{alias}:{port}"])
    message = f"TF_CONFIG.cluster: {alias}:{port}, the address of worker 1, leads to this process, which is worker 0"
    with pytest.raises(InputError, match=message):
        wait_for_workers(30)


def test_a_host_without_a_name_is_waited_for(cluster, addresses):
    """Kubernetes gives a pod its name only when it starts."""
    cluster(0, [addresses[0], "nowhere.invalid:2222"])
    with pytest.raises(
        TemporaryError, match=r"^worker 1 \(nowhere\.invalid:2222: .*(known|resolution).*\) did not connect"
    ):
        wait_for_workers(0.1)
