"""Messages for systemd (sd_notify), which waits for READY=1 in a unit with Type=notify."""

import contextlib
import os
import socket

SOCKET_VARIABLE = "NOTIFY_SOCKET"


def notify_systemd(message: str) -> None:
    """Send a message such as READY=1 or STOPPING=1 to systemd, if it started this process."""
    address = os.environ.get(SOCKET_VARIABLE)
    if not address:
        return
    # A name that begins with @ has no file.
    path = "\0" + address[1:] if address.startswith("@") else address
    # A service that works should not end because nobody listens.
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(path)
        sender.sendall(message.encode())
