"""Processes of several machines wait for each other before they train together; no TensorFlow.

tf.distribute.MultiWorkerMirroredStrategy waits by itself, for an hour and without a word, and has
no hook for another time. So the addresses that TF_CONFIG names are tried before it is made: a
process listens at its own one, and goes on once a connection to each of the others succeeds.
Nothing is sent; from then on the address is TensorFlow's.
"""

import contextlib
import functools
import socket
import time
from collections.abc import Iterator

from bert_cli.base.errors import InputError, TemporaryError
from bert_cli.base.log import LOG
from bert_cli.runtime.cluster import Cluster, read_cluster

_LOGGED_EVERY = 30.0  # seconds
_PAUSE = 0.5  # between two rounds
_CONNECTING = 2.0


@functools.cache
def wait_for_workers(timeout: int) -> None:
    """Return when all processes of TF_CONFIG that train are there; once in a process, as then
    TensorFlow has the address.

    timeout: in seconds. TemporaryError, naming those that are missing, when it is over; InputError
    for an address that is none.
    """
    cluster = read_cluster()
    others = {name: address for name, address in cluster.addresses.items() if name != cluster.task}
    endpoints = {name: _endpoint(address) for name, address in cluster.addresses.items()}
    began = logged = time.monotonic()
    with _listening(cluster, endpoints) as server:
        while missing := [name for name in others if not _is_listening(*endpoints[name])]:
            # monotonic: the clock of a machine may be set while it waits.
            now = time.monotonic()
            listed = ", ".join(f"{name} ({others[name]})" for name in missing)
            if now - began >= timeout:
                raise TemporaryError(
                    f"{listed} did not connect within {timeout} seconds; start all processes of "
                    "TF_CONFIG, and give a longer --worker_timeout where one takes more time"
                )
            if now - logged >= _LOGGED_EVERY:
                LOG.warning("waiting for %s: %.0f of %d seconds", listed, now - began, timeout)
                logged = now
            _accept_waiting(server)
            time.sleep(_PAUSE)


def _endpoint(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise InputError(f"the environment variable TF_CONFIG: {address!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


@contextlib.contextmanager
def _listening(cluster: Cluster, endpoints: dict[str, tuple[str, int]]) -> Iterator[socket.socket]:
    """A socket at the address of this process, at all interfaces, as TensorFlow's will be."""
    own = endpoints.get(cluster.task, ("", 0))
    both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    try:
        server = socket.create_server(("", own[1]), family=family, dualstack_ipv6=both)
    except OSError as error:
        raise InputError(
            f"port {own[1]}, which TF_CONFIG gives to {cluster.task}, cannot be used "
            f"({error.strerror}); is an earlier run still there?"
        ) from None
    with server:
        server.setblocking(False)
        yield server


def _accept_waiting(server: socket.socket) -> None:
    """Take the connections that wait, so that there is always room for further ones."""
    with contextlib.suppress(BlockingIOError):
        while True:
            server.accept()[0].close()


def _is_listening(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=_CONNECTING).close()
    except OSError:  # nobody is there yet, nor perhaps a name for the host
        return False
    return True
