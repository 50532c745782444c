"""Start of several processes in TF_CONFIG: some are late, missing or have a wrong address."""

import json
import socket
import threading

import pytest

from bert_cli.base.errors import InputError, TemporaryError
from bert_cli.runtime import cluster as cluster_module
from bert_cli.runtime.cluster import wait_for_workers


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


def free_address() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}"


def test_a_late_process_is_waited_for(cluster, monkeypatch, caplog):
    monkeypatch.setattr(cluster_module, "_LOGGED_EVERY", 0.1)
    addresses = [free_address(), free_address()]
    cluster(0, addresses)
    waiting = threading.Thread(target=wait_for_workers, args=(60,))
    waiting.start()
    waiting.join(0.5)
    assert waiting.is_alive()
    with socket.create_server(("127.0.0.1", int(addresses[1].rpartition(":")[2]))):
        waiting.join(10)
    assert not waiting.is_alive()
    assert f"waiting for worker 1 ({addresses[1]}: Connection refused): 0 of 60 seconds" in caplog.messages
    with socket.create_server(("127.0.0.1", int(addresses[0].rpartition(":")[2]))):
        pass  # the process's address is free again


def test_a_missing_process_is_an_error(cluster):
    addresses = [free_address(), free_address()]
    cluster(1, addresses)
    with pytest.raises(
        TemporaryError,
        match=rf"^worker 0 \({addresses[0]}: Connection refused\) did not connect within 0.1 seconds; start all",
    ):
        wait_for_workers(0.1)


def test_a_port_that_is_in_use(cluster):
    with socket.create_server(("", 0)) as taken:
        cluster(0, [f"127.0.0.1:{taken.getsockname()[1]}", free_address()])
        with pytest.raises(InputError, match="which TF_CONFIG gives to worker 0, cannot be used"):
            wait_for_workers(1)


@pytest.mark.parametrize("alias", ["localhost", "0.0.0.0", "127.0.0.2"])
def test_another_name_of_this_process_is_refused(cluster, alias):
    address = free_address()
    port = address.rpartition(":")[2]
    cluster(0, [address, f"{alias}:{port}"])
    message = f"TF_CONFIG.cluster: {alias}:{port}, the address of worker 1, leads to this process, which is worker 0"
    with pytest.raises(InputError, match=message):
        wait_for_workers(30)


def test_a_host_without_a_name_is_waited_for(cluster):
    """Kubernetes gives a pod its name only when it starts."""
    cluster(0, [free_address(), "nowhere.invalid:2222"])
    with pytest.raises(
        TemporaryError, match=r"^worker 1 \(nowhere\.invalid:2222: .*(known|resolution).*\) did not connect"
    ):
        wait_for_workers(0.1)
