"""Start of a training on several machines: processes wait for each other; no TensorFlow.

tf.distribute.MultiWorkerMirroredStrategy waits for an hour, without a log line, and ignores
signals. So this module tries the addresses in TF_CONFIG first: a process listens at its address,
and continues when it can connect to all others. It sends no data. Afterwards TensorFlow uses the
address.
"""

import contextlib
import functools
import socket
import time
from collections.abc import Iterator

from bert_cli.base.errors import InputError, TemporaryError
from bert_cli.base.log import LOG
from bert_cli.runtime.cluster import endpoint, read_cluster

_LOGGED_EVERY = 30.0  # seconds between log lines
_PAUSE = 0.5  # seconds between two rounds
_CONNECTING = 2.0  # seconds to wait for a connection


@functools.cache
def wait_for_workers(timeout: int) -> None:
    """Wait for all processes in TF_CONFIG that train.

    Call this once per process: afterwards TensorFlow uses the address.

    Args:
        timeout: seconds.

    Raises:
        TemporaryError: if processes are missing after the timeout.
        InputError: if an address leads to this process, or its port cannot be used.
    """
    cluster = read_cluster()
    other_addresses = {name: address for name, address in cluster.addresses.items() if name != cluster.task}
    started = logged = time.monotonic()
    with _listening(cluster.task, endpoint(cluster.addresses[cluster.task])[1]) as server:
        while missing := _missing_reasons(other_addresses, server, cluster.task):
            # Use monotonic, because the machine's clock may be set during the wait.
            now = time.monotonic()
            missing_text = ", ".join(f"{name} ({other_addresses[name]}: {reason})" for name, reason in missing.items())
            if now - started >= timeout:
                raise TemporaryError(
                    f"{missing_text} did not connect within {timeout} seconds; start all processes of "
                    "TF_CONFIG, and give a longer --worker_timeout if one takes more time"
                )
            if now - logged >= _LOGGED_EVERY:
                LOG.warning("waiting for %s: %.0f of %d seconds", missing_text, now - started, timeout)
                logged = now
            time.sleep(_PAUSE)


@contextlib.contextmanager
def _listening(task: str, port: int) -> Iterator[socket.socket]:
    """Listen at this process's port on all interfaces, as TensorFlow will."""
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


def _missing_reasons(other_addresses: dict[str, str], server: socket.socket, task: str) -> dict[str, str]:
    """Return, by process name, the reasons why processes cannot be reached.

    Args:
        other_addresses: HOST:PORT by process name.
        server: this process's socket.
        task: this process's name.

    Raises:
        InputError: if an address leads to this process.
    """
    reasons = {}
    for name, address in other_addresses.items():
        try:
            connection = socket.create_connection(endpoint(address), timeout=_CONNECTING)
        except OSError as error:  # the process has not started yet, and its host may not have a name until then
            reasons[name] = error.strerror or str(error)
            continue
        with connection:
            source = _source(connection.getsockname())
            # The address names this machine differently, for example localhost, with the same port.
            if source in _accept_waiting(server):
                raise InputError(
                    f"the environment variable TF_CONFIG.cluster: {address}, the address of {name}, leads to this process, "
                    f"which is {task}; correct one of the two addresses"
                )
            # If nobody listens, the system may connect a port to itself.
            if source == _source(connection.getpeername()):
                reasons[name] = "nobody listens"
    return reasons


def _accept_waiting(server: socket.socket) -> list[tuple[str, int]]:
    """Accept all waiting connections, close them, and return their sources."""
    sources = []
    with contextlib.suppress(BlockingIOError):
        while True:
            connection, address = server.accept()
            connection.close()
            sources.append(_source(address))
    return sources


def _source(address: tuple) -> tuple[str, int]:
    """Return IP address and port, without the prefix that a dual-stack socket adds to IPv4."""
    return address[0].removeprefix("::ffff:"), address[1]
