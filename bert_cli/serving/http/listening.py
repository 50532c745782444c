"""Sockets that listen before the models are loaded."""

import contextlib
import errno
import os
import socket
import stat
from collections.abc import Iterator

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.settings.serving import Server

# Connections that may wait to be accepted.
BACKLOG = 2048


@contextlib.contextmanager
def listening(server: Server) -> Iterator[list[socket.socket]]:
    """Listen, and yield the sockets: for requests, then for --metrics_port if it is given.

    Clients then wait while models load, instead of being refused.

    Raises:
        InputError: if an address is not available.
    """
    sockets = [_listen_at_path(server.uds) if server.uds else _listen("port", server.host, server.port)]
    try:
        if server.metrics_port is not None:
            sockets.append(_listen("metrics_port", server.host, server.metrics_port))
        yield sockets
    finally:
        if server.uds:
            files.remove(server.uds)


def _listen(flag: str, host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return _bind(listener, (host, port), f"--{flag}={port}: cannot listen on {host}")


def _listen_at_path(path: str) -> socket.socket:
    if os.path.lexists(path):
        refuse_if(
            not stat.S_ISSOCK(os.lstat(path).st_mode), f"--uds={path}: exists, and is no socket; name another path"
        )
        with socket.socket(socket.AF_UNIX) as client:
            # A server with many clients would let this one wait.
            client.setblocking(False)
            error = client.connect_ex(path)
        # A server that was killed has left its socket. A busy one does not refuse the connection.
        refuse_if(error in (0, errno.EAGAIN), f"--uds={path}: another server listens there")
        refuse_if(
            error != errno.ECONNREFUSED,
            f"--uds={path}: another server may listen there ({os.strerror(error)}); name another path",
        )
        os.unlink(path)
    return _bind(socket.socket(socket.AF_UNIX), path, f"--uds={path}: cannot listen")


def _bind(listener: socket.socket, address: tuple[str, int] | str, message: str) -> socket.socket:
    try:
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise InputError(f"{message} ({error.strerror or error})") from None
    listener.set_inheritable(True)
    return listener


def address_of(listener: socket.socket, has_tls: bool) -> str:
    """Return the address of a socket for people."""
    name = listener.getsockname()
    if listener.family == socket.AF_UNIX:
        return f"unix:{name}"
    scheme = "https" if has_tls else "http"
    host, port = name[:2]
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
