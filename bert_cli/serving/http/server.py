"""Uvicorn server for untrusted clients: header limits, and a shutdown that completes requests."""

import asyncio
import logging
import os
import signal
import time
from typing import Any

import uvicorn
from starlette.middleware.cors import CORSMiddleware
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bert_cli.base.log import LOG
from bert_cli.runtime.systemd import notify_systemd
from bert_cli.serving.access import note_client_left
from bert_cli.serving.http.app import Guard, make_app
from bert_cli.serving.http.listening import BACKLOG, address_of
from bert_cli.serving.http.protocol import ServerState
from bert_cli.serving.processes import SharedResources
from bert_cli.serving.responses import error_response
from bert_cli.serving.workers import Supervisor
from bert_cli.settings.serving import Limits, Server

# Limit for the request line and headers together.
_MAX_HEAD_BYTES = 65_536
# Running requests are aborted this long before the drain ends, to leave time for the exit.
_FORCED_END_SECONDS = 2.0
# Time for the running batch after requests are aborted.
_LAST_BATCH_SECONDS = 0.5
# Time after which an idle connection is closed.
_KEEP_ALIVE_SECONDS = 75


def make_protocol(seconds: float) -> type[HttpToolsProtocol]:
    """Return a protocol class that closes connections with slow or large headers.

    Args:
        seconds: time limit for receiving a request's line and headers.
    """

    class Protocol(HttpToolsProtocol):
        _deadline: asyncio.TimerHandle | None = None
        _head_bytes, _is_in_head = 0, True

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
                # A later request on the same connection needs a new deadline.
                if self._deadline is None:
                    self._await_head()
                self._head_bytes += len(data)
            super().data_received(data)
            if self._is_in_head and self._head_bytes > _MAX_HEAD_BYTES:
                self.transport.close()

        def on_headers_complete(self) -> None:
            self._is_in_head = False
            self._end_deadline()
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            super().on_message_complete()
            self._is_in_head = True
            self._head_bytes = 0
            # uvicorn stops reading after a large body, and would not see that the client leaves.
            if not self.pipeline:
                self.flow.resume_reading()

        def send_400_response(self, msg: str) -> None:
            """Answer bytes that are not HTTP with a JSON error, like all other errors."""
            self.transport.write(_encode_refusal(msg))
            self.transport.close()

        def connection_lost(self, error: Exception | None) -> None:
            self._end_deadline()
            if self.cycle and not self.cycle.response_complete:
                note_client_left(self.cycle.scope)
            super().connection_lost(error)

    return Protocol


def _encode_refusal(message: str) -> bytes:
    """Return a whole response with status 400, for bytes that are not HTTP."""
    body = error_response(400, message).body
    status_and_length = f"HTTP/1.1 400 Bad Request\r\ncontent-length: {len(body)}\r\n"
    fixed_headers = "content-type: application/json\r\nconnection: close\r\n\r\n"
    return (status_and_length + fixed_headers).encode() + body


class _Server(uvicorn.Server):
    """Server that answers its running requests before it ends with exit code 0."""

    def __init__(
        self,
        config: uvicorn.Config,
        state: ServerState,
        shutdown_delay: float,
        drain_seconds: float,
        supervisor: Supervisor,
    ):
        """Create the server.

        Args:
            config: uvicorn's settings.
            state: counts the running requests.
            shutdown_delay: seconds between the first signal and the drain. /ready is 503 in this
                time, and requests are answered, because proxies notice the 503 only after a while.
            drain_seconds: time limit for the drain. New requests are refused then.
            supervisor: the process that started this one; without it, the server ends.
        """
        super().__init__(config)
        self._state = state
        self._shutdown_delay = shutdown_delay
        self._drain_seconds = drain_seconds
        self._supervisor = supervisor
        # Times from time.monotonic(), or None before the first signal and before the drain.
        self._drains_at: float | None = None
        self._ends_at: float | None = None

    def handle_exit(self, sig: int, frame: Any) -> None:
        # Do not record the signal, so that the exit code is 0: a requested end is no failure.
        if self._state.is_ending:
            self._ends_at = 0.0
            return
        self._state.is_ending = True
        notify_systemd("STOPPING=1")
        self._drains_at = time.monotonic() + self._shutdown_delay
        if self._shutdown_delay:
            LOG.info("ending: not ready from now on; requests are answered for %d s more", self._shutdown_delay)
        else:
            self._start_drain()

    def _start_drain(self) -> None:
        self._state.is_draining = True
        self._ends_at = time.monotonic() + max(self._drain_seconds / 2, self._drain_seconds - _FORCED_END_SECONDS)
        LOG.info("ending: %d running requests are answered first", self._state.running)

    async def on_tick(self, counter: int) -> bool:
        should_exit = await super().on_tick(counter)
        if self._state.request_log:
            self._state.request_log.write()
        if not self._state.is_ending and self._supervisor.has_ended():
            LOG.error("error: the process that started this one has ended")
            self.handle_exit(signal.SIGTERM, None)
        if self._ends_at is None and self._drains_at is not None and time.monotonic() >= self._drains_at:
            self._start_drain()
        if self._ends_at is None:
            return should_exit
        return should_exit or not self._state.running or time.monotonic() > self._ends_at


def serve(
    state: ServerState, shared: SharedResources, limits: Limits, settings: Server, supervisor: Supervisor
) -> None:
    """Log the address, and answer requests until SIGTERM or SIGINT.

    Args:
        state: the service, keys and settings that all requests use.
        shared: sockets and the certificate.
        limits: limits for requests.
        supervisor: the process that started this one.
    """
    app: Any = Guard(make_app(state), state)
    if settings.allowed_origins:
        # Put CORS outside the check of API keys: a browser's preflight request has no key.
        app = CORSMiddleware(
            app,
            settings.allowed_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-Request-ID"],
            expose_headers=["X-Request-ID"],
        )
    config = uvicorn.Config(
        app,
        http=make_protocol(limits.request_timeout),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=1,
        backlog=BACKLOG,
    )
    if shared.certificate:
        config.load()
        config.ssl = shared.certificate.context
    # Silence uvicorn: it logs a line per malformed request, so anybody could fill the disk. The
    # application logs its own errors.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    server = _Server(config, state, settings.shutdown_delay, settings.drain_seconds, supervisor)
    # Install handlers before uvicorn does: after the next log line, others may send signals.
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, server.handle_exit)
    addresses = [address_of(listener, bool(shared.certificate)) for listener in shared.listeners]
    for address in addresses[1:]:
        LOG.info("metrics at %s/metrics", address)
    LOG.info("serving %s", addresses[0])
    supervisor.note_ready()
    try:
        server.run(sockets=shared.listeners)
    finally:
        if state.request_log:
            state.request_log.write()
        if state.spans:
            state.spans.close()
    if not state.service.batcher.close(_LAST_BATCH_SECONDS):
        # Exit immediately: a normal exit during the batch would abort the process with an error.
        logging.shutdown()
        os._exit(0)
