"""A server on this machine that speaks the protocol of Hugging Face's hub, for the real huggingface_hub."""

import contextlib
import dataclasses
import hashlib
import http.server
import json
import pathlib
import sys
import threading
import urllib.parse
from collections.abc import Iterator, Mapping

import pytest

from bert_cli.weights.formats.hub_files import download_model


@dataclasses.dataclass
class Repository:
    """A model of the hub.

    Attributes:
        files: contents by name.
        error: status and error code that each request gets, such as (403, "GatedRepo").
    """

    files: Mapping[str, bytes]
    error: tuple[int, str] | None = None

    @property
    def commit(self) -> str:
        return hashlib.sha1(repr(sorted(self.files.items())).encode()).hexdigest()


class Hub:
    """The models of a server, and the files that it sent.

    Attributes:
        models: repositories by owner/name.
        sent: names of the files that were downloaded.
        address: the server's URL.
    """

    def __init__(self) -> None:
        self.models: dict[str, Repository] = {}
        self.sent: list[str] = []
        self.address = ""

    def answer(self, path: str, is_head: bool) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body for the path of a request."""
        parts = [urllib.parse.unquote(part) for part in path.partition("?")[0].strip("/").split("/")]
        is_api = parts[:2] == ["api", "models"]
        owner, name, action, revision, *rest = [*parts[2 if is_api else 0 :], "", "", ""]
        repository = self.models.get(f"{owner}/{name}")
        if repository is None:
            return 401, {"X-Error-Code": "RepoNotFound"}, b"{}"
        commit = repository.commit
        if repository.error and not (is_api and action != "tree"):
            return repository.error[0], {"X-Error-Code": repository.error[1]}, b"{}"
        if revision not in ("", "main", "v1", "refs/pr/1", commit):
            return 404, {"X-Error-Code": "RevisionNotFound"}, b"{}"
        if not is_api:
            file = "/".join(part for part in rest if part)
            if file not in repository.files:
                return 404, {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit}, b""
            self.sent += [] if is_head else [file]
            contents = repository.files[file]
            etag = hashlib.sha256(contents).hexdigest()
            return 200, {"ETag": f'"{etag}"', "X-Repo-Commit": commit, "X-Linked-Size": str(len(contents))}, contents
        if action == "tree":
            rows = [
                {"type": "file", "path": file, "size": len(contents), "oid": hashlib.sha1(contents).hexdigest()}
                for file, contents in repository.files.items()
            ]
            return 200, {}, json.dumps(rows).encode()
        siblings = [{"rfilename": file} for file in repository.files]
        return 200, {}, json.dumps({"id": f"{owner}/{name}", "sha": commit, "siblings": siblings}).encode()


@contextlib.contextmanager
def running_hub() -> Iterator[Hub]:
    """Run a hub without models."""
    hub = Hub()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = hub.answer(self.path, self.command == "HEAD")
            self.send_response(status)
            for name, value in (headers | {"Content-Length": str(len(body))}).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815  # the name that the base class calls

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        hub.address = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield hub
        finally:
            server.shutdown()
            thread.join()


def restart() -> None:
    """Forget models and settings, as a new process: huggingface_hub reads its variables when it is imported."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "huggingface_hub"]:
        del sys.modules[name]
    download_model.cache_clear()


@contextlib.contextmanager
def connected(hub: Hub, cache: pathlib.Path) -> Iterator[Hub]:
    """Use a hub without models and with this directory as cache."""
    hub.models.clear()
    hub.sent.clear()
    variables = {"HF_ENDPOINT": hub.address, "HF_HOME": str(cache), "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        restart()
        yield hub
    restart()
