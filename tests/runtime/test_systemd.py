"""Messages for systemd."""

import socket

import pytest

from bert_cli.runtime.systemd import SOCKET_VARIABLE, notify_systemd


@pytest.mark.parametrize("kind", ["file", "abstract"])
def test_a_message(kind, tmp_path, monkeypatch):
    address = str(tmp_path / "notify") if kind == "file" else f"@{tmp_path}"
    monkeypatch.setenv(SOCKET_VARIABLE, address)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(address.replace("@", "\0"))
        listener.settimeout(20)
        notify_systemd("READY=1")
        assert listener.recv(100) == b"READY=1"


def test_nobody_listens(tmp_path, monkeypatch):
    monkeypatch.setenv(SOCKET_VARIABLE, str(tmp_path / "nobody"))
    notify_systemd("READY=1")
    monkeypatch.delenv(SOCKET_VARIABLE)
    notify_systemd("READY=1")
