"""uvicorn with what a server in the open needs: a time for each request's head, and an end that
answers what is running.
"""

import asyncio
import logging
import os
import signal
import socket
import time
from typing import Any

import uvicorn
from starlette.middleware.cors import CORSMiddleware
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bert_cli.base.log import LOG
from bert_cli.serving.app import Guard, State, make_app
from bert_cli.serving.responses import error_response
from bert_cli.settings.serving import Limits, Server

_MOST_HEAD_BYTES = 65_536  # of a request's line and headers
_FORCED = 2.0  # seconds before the end of the drain at which running requests are given up
_LAST_BATCH = 0.5  # seconds that a batch may still take then
_BACKLOG = 2048  # connections that wait to be accepted
_KEEP_ALIVE = 75  # seconds that an idle connection stays open


def protocol_with_deadline(seconds: float) -> type[HttpToolsProtocol]:
    """The HTTP protocol, which closes a connection whose request has no whole head in this time, or
    a head that is too large.
    """

    class Protocol(HttpToolsProtocol):
        _deadline: asyncio.TimerHandle | None = None
        _head_bytes = 0
        _is_in_head = True

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._await_head()

        def _await_head(self) -> None:
            self._is_in_head = True
            self._head_bytes = 0
            if self._deadline is None:
                self._deadline = self.loop.call_later(seconds, self._expire)

        def _end_deadline(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _expire(self) -> None:
            self._deadline = None
            if not self.transport.is_closing():
                self.transport.close()

        def data_received(self, data: bytes) -> None:
            if self._is_in_head:
                if self._deadline is None:  # of a further request on this connection
                    self._await_head()
                self._head_bytes += len(data)
            super().data_received(data)
            if self._is_in_head and self._head_bytes > _MOST_HEAD_BYTES:
                self.transport.close()

        def on_headers_complete(self) -> None:
            self._is_in_head = False
            self._end_deadline()
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            super().on_message_complete()
            self._is_in_head = True
            self._head_bytes = 0

        def send_400_response(self, msg: str) -> None:
            """Of bytes that are no HTTP: in JSON, as all other errors."""
            answer = error_response(400, msg)
            head = f"HTTP/1.1 400 Bad Request\r\ncontent-length: {len(answer.body)}\r\n"
            fixed = "content-type: application/json\r\nconnection: close\r\n\r\n"
            self.transport.write((head + fixed).encode() + answer.body)
            self.transport.close()

        def connection_lost(self, error: Exception | None) -> None:
            self._end_deadline()
            super().connection_lost(error)

    return Protocol


class _Server(uvicorn.Server):
    """Ends after the running requests are answered, with exit code 0."""

    def __init__(self, config: uvicorn.Config, state: State, drain_seconds: float):
        super().__init__(config)
        self._state = state
        self._drain_seconds = drain_seconds
        self._ends_at: float | None = None

    def handle_exit(self, sig: int, frame: Any) -> None:
        # Not the signal's own exit code: a server that was asked to end has done its work.
        if self._ends_at is not None:
            self._ends_at = 0.0
            return
        self._state.is_draining = True
        self._ends_at = time.monotonic() + max(self._drain_seconds / 2, self._drain_seconds - _FORCED)
        LOG.info("ending: %d running requests are answered first", self._state.running)

    async def on_tick(self, counter: int) -> bool:
        is_over = await super().on_tick(counter)
        if self._ends_at is None:
            return is_over
        return is_over or not self._state.running or time.monotonic() > self._ends_at


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; OSError where the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # Now, so that clients wait for the models to be loaded, instead of being refused.
        listener.listen(_BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.set_inheritable(True)
    return listener


def serve(state: State, listener: socket.socket, limits: Limits, settings: Server) -> None:
    """Log the address, and answer requests until SIGTERM or SIGINT asks for the end."""
    app: Any = Guard(make_app(state), state)
    if settings.allowed_origins:
        # Around the API keys: a browser asks for permission without one.
        app = CORSMiddleware(
            app,
            settings.allowed_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
        )
    config = uvicorn.Config(
        app,
        http=protocol_with_deadline(limits.request_timeout),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=1,
        backlog=_BACKLOG,
    )
    # It writes a line for each request that is no HTTP, with which anybody could fill a disk;
    # errors of our own are logged where they are answered.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    server = _Server(config, state, settings.drain_seconds)
    # Here, and not when uvicorn does it: from the next line on somebody may send a signal.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.handle_exit)
    LOG.info("serving %s", _address(listener))
    server.run(sockets=[listener])
    if not state.service.batcher.close(_LAST_BATCH):
        # Its requests were given up. Python's own end would abort the process within the batch.
        logging.shutdown()
        os._exit(0)


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
