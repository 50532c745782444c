"""Role of this process in the cluster in TF_CONFIG, and the wait for the others; no TensorFlow."""

import contextlib
import functools
import os
import re
import socket
import time
from collections.abc import Iterator
from typing import NamedTuple

from bert_cli.base.errors import InputError, TemporaryError, refuse_if
from bert_cli.base.json_files import JsonObject, expect, parse_json
from bert_cli.base.log import LOG

_CHIEF, _WORKER, _EVALUATOR, _SERVER = "chief", "worker", "evaluator", "ps"
_TF1_CHIEF = "master"  # TensorFlow 1's name for a chief, which TensorFlow 2 treats as a single process
_CHIEFS = (_CHIEF, _TF1_CHIEF)
_COMPUTING = (*_CHIEFS, _WORKER)
_PLACE = "the environment variable TF_CONFIG"
_FORM = 'it has to be as {"cluster": {"worker": ["HOST:PORT", …]}, "task": {"type": "worker", "index": 0}}'
# A host name, a number, or IPv6 in brackets. Unfilled templates such as $(HOST) do not match.
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+(?:%\w+)?\]|\w[\w.-]*):([0-9]{1,5})", re.ASCII)
# For the wait, in seconds: between log lines, between rounds, and for a connection.
_LOGGED_EVERY, _PAUSE, _CONNECTING = 30.0, 0.5, 2.0


class Cluster(NamedTuple):
    """Processes that train together.

    Attributes:
        computing: number of processes that train, 0 without a cluster in TF_CONFIG.
        is_chief: whether this process writes files: the chief, or without one the first worker.
        task: name of this process, such as `worker 1`.
        addresses: HOST:PORT by name, for each process that trains.
    """

    num_training: int
    is_chief: bool
    task: str
    addresses: dict[str, str]


def read_cluster() -> Cluster:
    """Return the cluster in TF_CONFIG.

    Raises:
        InputError: if its form differs from TensorFlow's documentation, if it names a process that
            cannot train, or if an address is invalid or repeated.
    """
    values = expect(parse_json(os.environ.get("TF_CONFIG") or "{}", _PLACE, advice=_FORM), dict, _PLACE, _FORM)
    members, task = _object(values, "cluster"), _object(values, "task")
    _check_roles(members)
    addresses = {
        f"{role} {index}": address for role in _COMPUTING for index, address in enumerate(_addresses(members, role))
    }
    _check_distinct(addresses)
    role, name = _read_task(task, addresses)
    # TensorFlow's rule: without a chief the first worker writes; without TF_CONFIG a process is
    # alone.
    is_chief = role in (None, *_CHIEFS) or (name == f"{_WORKER} 0" and not any(members.get(role) for role in _CHIEFS))
    return Cluster(len(addresses), is_chief, name, addresses)


def endpoint(address: str) -> tuple[str, int]:
    """Return host and port from an address in a Cluster."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def _object(values: JsonObject, name: str) -> JsonObject:
    return expect(values.get(name, {}), dict, f"{_PLACE}.{name}", _FORM)


def _check_roles(members: JsonObject) -> None:
    unknown = next((role for role in members if role not in (*_COMPUTING, _EVALUATOR, _SERVER)), None)
    refuse_if(unknown is not None, f"{_PLACE}.cluster.{unknown}: is not a role; {_CHIEF} and {_WORKER} train; {_FORM}")
    # TensorFlow would wait forever for a parameter server in the cluster.
    refuse_if(
        members.get(_SERVER),
        f"{_PLACE}.cluster.{_SERVER}: bert_cli has no use for parameter servers: remove {_SERVER}, and do not start it",
    )
    chiefs = [f"{role} {index}" for role in _CHIEFS for index in range(len(_addresses(members, role)))]
    refuse_if(len(chiefs) > 1, f"{_PLACE}.cluster: has {' and '.join(chiefs)}; at most one chief is possible")
    refuse_if(
        members.get(_TF1_CHIEF) and members.get(_WORKER),
        f"{_PLACE}.cluster.{_TF1_CHIEF}: is TensorFlow 1's name; rename it to {_CHIEF}, in cluster and in task",
    )


def _addresses(members: JsonObject, role: str) -> list[str]:
    place = f"{_PLACE}.cluster.{role}"
    addresses = expect(members.get(role, []), list, place, _FORM)
    for index, address in enumerate(addresses):
        match = _ADDRESS.fullmatch(expect(address, str, f"{place}[{index}]", _FORM))
        if not match or not 0 < int(match[2]) < 1 << 16:
            raise InputError(
                f"{place}[{index}]: {address!r:.80} is not HOST:PORT; correct the address of {role} {index}"
            )
    return addresses


def _check_distinct(addresses: dict[str, str]) -> None:
    owners: dict[str, str] = {}
    for name, address in addresses.items():
        owner = owners.setdefault(address.lower(), name)
        refuse_if(owner != name, f"{_PLACE}.cluster: {owner} and {name} have the same address, {address}; correct one")


def _read_task(task: JsonObject, addresses: dict[str, str]) -> tuple[str | None, str]:
    """Return this process's role and name; (None, "the only process") if it has no role."""
    role, index = task.get("type"), task.get("index", 0)
    names = ", ".join(addresses)
    if role is None:
        # Otherwise each process would act as the chief.
        refuse_if(len(addresses) > 1, f'{_PLACE}.task: has no "type"; name this process, one of {names}')
        return None, "the only process"
    role = str(expect(role, str, f"{_PLACE}.task.type", _FORM))
    # Schedulers write the index as text; TensorFlow accepts both.
    index = int(index) if isinstance(index, str) and index.isdecimal() else index
    expect(index, int, f"{_PLACE}.task.index", _FORM)
    name = f"{role} {index}"
    refuse_if(
        role in (_EVALUATOR, _SERVER),
        f"{_PLACE}.task: {name} does not train: give the command to {names or 'the workers'} alone",
    )
    refuse_if(role not in _COMPUTING, f"{_PLACE}.task.type: {role!r:.40} is not a role; {_CHIEF} and {_WORKER} train")
    is_listed = name in addresses if addresses else index == 0
    refuse_if(not is_listed, f"{_PLACE}.task: {name} is not in the cluster, which has {names or 'no process'}")
    return role, name


def is_multi_worker(distribution_strategy: str) -> bool:
    """Return whether this process is one of several that train together. TPUs do not count."""
    return distribution_strategy in ("auto", "multi_worker") and read_cluster().num_training > 1


def is_writer(distribution_strategy: str) -> bool:
    """Return whether this process writes files, without asking TensorFlow."""
    return distribution_strategy not in ("auto", "multi_worker") or read_cluster().is_chief


def rank(distribution_strategy: str) -> tuple[int, int]:
    """Return this process's index among those that train together, and their number."""
    if not is_multi_worker(distribution_strategy):
        return 0, 1
    cluster = read_cluster()
    names = list(cluster.addresses)
    return names.index(cluster.task), len(names)


@functools.cache
def wait_for_workers(timeout: int) -> None:
    """Wait for all processes in TF_CONFIG that train; call this once per process.

    tf.distribute.MultiWorkerMirroredStrategy waits for an hour, without a log line, and ignores
    signals. So try the addresses first: this process listens at its address, and continues when it
    can connect to all others. It sends no data. Afterwards TensorFlow uses the address.

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
