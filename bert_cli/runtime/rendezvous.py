"""Processes of several machines wait for each other before they train together; no TensorFlow.

tf.distribute.MultiWorkerMirroredStrategy waits by itself, for an hour, without a log line, and deaf to
signals. So the addresses of TF_CONFIG are tried before it is made: a process listens at its address,
and continues when a connection to each of the others succeeds. Nothing is sent. From then on the
address is TensorFlow's.
"""

import contextlib
import functools
import socket
import time
from collections.abc import Iterator

from bert_cli.base.errors import InputError, TemporaryError
from bert_cli.base.log import LOG
from bert_cli.runtime.cluster import endpoint, read_cluster

_LOGGED_EVERY = 30.0  # seconds
_PAUSE = 0.5  # between two rounds
_CONNECTING = 2.0


@functools.cache
def wait_for_workers(timeout: int) -> None:
    """Return when all processes of TF_CONFIG that train are there.

    Once in a process: afterwards TensorFlow has the address.

    Args:
        timeout: seconds.

    Raises:
        TemporaryError: some are missing, and the time is over.
        InputError: an address leads to this process, or its port cannot be used.
    """
    cluster = read_cluster()
    others = {name: address for name, address in cluster.addresses.items() if name != cluster.task}
    began = logged = time.monotonic()
    with _listening(cluster.task, endpoint(cluster.addresses[cluster.task])[1]) as server:
        while missing := _missing(others, server, cluster.task):
            # monotonic: the clock of a machine may be set while it waits.
            now = time.monotonic()
            listed = ", ".join(f"{name} ({others[name]}: {reason})" for name, reason in missing.items())
            if now - began >= timeout:
                raise TemporaryError(
                    f"{listed} did not connect within {timeout} seconds; start all processes of "
                    "TF_CONFIG, and give a longer --worker_timeout if one takes more time"
                )
            if now - logged >= _LOGGED_EVERY:
                LOG.warning("waiting for %s: %.0f of %d seconds", listed, now - began, timeout)
                logged = now
            time.sleep(_PAUSE)


@contextlib.contextmanager
def _listening(task: str, port: int) -> Iterator[socket.socket]:
    """Listen at the port of this process on all interfaces, as TensorFlow will."""
    both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    try:
        server = socket.create_server(("", port), family=family, dualstack_ipv6=both)
    except OSError as error:
        raise InputError(
            f"port {port}, which TF_CONFIG gives to {task}, cannot be used "
            f"({error.strerror}); is an earlier run still there?"
        ) from None
    with server:
        server.setblocking(False)
        yield server


def _missing(others: dict[str, str], server: socket.socket, task: str) -> dict[str, str]:
    """Return the reasons why processes cannot be reached, by their names.

    Raises:
        InputError: an address leads to the server, which is this process.
    """
    missing = {}
    for name, address in others.items():
        try:
            connection = socket.create_connection(endpoint(address), timeout=_CONNECTING)
        except OSError as error:  # it has not started yet; its host may have no name until then
            missing[name] = error.strerror or str(error)
            continue
        with connection:
            source = _source(connection.getsockname())
            # Another name of this machine, such as localhost, with the same port.
            if source in _accept_waiting(server):
                raise InputError(
                    f"the environment variable TF_CONFIG.cluster: {address}, the address of {name}, leads to this process, "
                    f"which is {task}; correct one of the two addresses"
                )
            # Nobody listens, and the system chose the port itself as the source of the connection.
            if source == _source(connection.getpeername()):
                missing[name] = "nobody listens"
    return missing


def _accept_waiting(server: socket.socket) -> list[tuple[str, int]]:
    """Take the connections that wait, and return their sources."""
    sources = []
    with contextlib.suppress(BlockingIOError):
        while True:
            connection, address = server.accept()
            connection.close()
            sources.append(_source(address))
    return sources


def _source(address: tuple) -> tuple[str, int]:
    """Return IP address and port, without the prefix that a socket for IPv4 and IPv6 adds."""
    return address[0].removeprefix("::ffff:"), address[1]
