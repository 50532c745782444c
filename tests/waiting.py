"""Waiting for another process, with a deadline, and ports that no other process gets."""

import contextlib
import socket
import time
from collections.abc import Callable, Iterator

INTERVAL_SECONDS = 0.001  # tests that kill a process while it writes a file must notice the file


def wait_until(is_reached: Callable[[], object], describe: Callable[[], object] = str, seconds: float = 200) -> None:
    """Return when `is_reached` returns a true value.

    Args:
        is_reached: called again and again; may raise, for example when the other process has ended.
        describe: returns what to print if the time is over, such as the other process's log.
        seconds: time limit.

    Raises:
        AssertionError: if the time is over.
    """
    deadline = time.monotonic() + seconds
    while not is_reached():
        assert time.monotonic() < deadline, f"nothing came within {seconds} seconds: {describe()}"
        time.sleep(INTERVAL_SECONDS)


@contextlib.contextmanager
def reserved_addresses(count: int) -> Iterator[list[str]]:
    """Yield addresses (HOST:PORT) on loopback where this test's servers can listen, and no other process.

    The sockets only bind the ports: a server that sets SO_REUSEADDR can listen there nevertheless,
    while the system gives the port to nobody who asks for a free one.
    """
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for reserved in sockets:
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            reserved.bind(("127.0.0.1", 0))
        yield [f"127.0.0.1:{reserved.getsockname()[1]}" for reserved in sockets]
