"""Flags of bert-serve."""

import dataclasses
import ipaddress
import re
from typing import ClassVar

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.log import JSON
from bert_cli.flags.option import FlagGroup, group, option
from bert_cli.flags.paths import expand_home, folder_list_reader
from bert_cli.settings.answering import MODEL_NAME, USE_FLAGS, ModelFlags, ModelUse, flags_of_served_model
from bert_cli.settings.devices import Devices
from bert_cli.settings.groups import Log, Phases

IPNetwork = ipaddress.IPv4Network | ipaddress.IPv6Network
DEFAULT = "default"  # name for the model in --output_dir


def read_models(text: str) -> tuple[tuple[str, str], ...]:
    """Return (name, path) pairs from lines such as NAME=PATH.

    Raises:
        InputError: if a line has another form or a name is repeated.
    """
    return tuple(
        (name, expand_home(path, f"--model={name}={path}"))
        for name, path in _read_named("model", "DIRECTORY", text).items()
    )


def read_ensembles(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return (name, paths) pairs from lines such as NAME=PATH,PATH.

    Raises:
        InputError: if a line has another form or a name is repeated.
    """
    values = _read_named("ensemble", "DIRECTORY,DIRECTORY", text)
    return tuple((name, folder_list_reader(f"ensemble={name}")(paths)) for name, paths in values.items())


def _read_named(flag: str, form: str, text: str) -> dict[str, str]:
    """Return values by model name from lines such as NAME=VALUE; `form` describes the values."""
    values: dict[str, str] = {}
    for line in text.split("\n"):
        name, sign, value = line.partition("=")
        # A name is used in addresses such as /v1/models/NAME:predict.
        if not (sign and value and MODEL_NAME.fullmatch(name)):
            raise InputError(f"--{flag}={line}: NAME={form} is needed; a name has letters, digits, '.', '_' and '-'")
        if name in values:
            raise InputError(f"--{flag}={line}: the name {name} is given twice")
        values[name] = value
    return values


_ORIGIN = re.compile(r"https?://[^/\s,*?#@]+", re.IGNORECASE)
_ROOT_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+/?")


def read_origins(text: str) -> tuple[str, ...]:
    """Return the web origins in a comma-separated list; raise InputError if one is invalid."""
    origins = tuple(origin.strip().lower() for origin in text.split(",") if origin.strip())
    for origin in origins:
        if origin != "*" and not _ORIGIN.fullmatch(origin):
            raise InputError(
                f"--allowed_origins={origin}: an origin has a scheme and a host and ends there, such as "
                "https://example.com or http://localhost:3000; * allows every page"
            )
    return origins


_HOST = re.compile(r"(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]", re.IGNORECASE)


def read_hosts(text: str) -> tuple[str, ...]:
    """Return the host names in a comma-separated list; raise InputError if one is invalid."""
    hosts = tuple(host.strip().lower() for host in text.split(",") if host.strip())
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise InputError(
                f"--allowed_hosts={host}: a host name without scheme and port is needed, such as example.com, "
                "*.example.com, 127.0.0.1 or [::1]"
            )
    return hosts


def read_ip_networks(text: str) -> tuple[IPNetwork, ...]:
    """Return the networks in a comma-separated list; raise InputError if one is invalid."""
    try:
        return tuple(ipaddress.ip_network(part.strip()) for part in text.split(",") if part.strip())
    except ValueError as error:
        raise InputError(
            f"--trusted_proxies={text}: {error}; addresses such as 10.0.0.1 or 10.0.0.0/8 are needed"
        ) from None


def is_loopback(host: str) -> bool:
    """Return whether only programs on this machine can connect to an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_root_path(text: str) -> str:
    """Return a path without its last slash; raise InputError for other forms."""
    if text not in ("", "/") and not _ROOT_PATH.fullmatch(text):
        raise InputError(f"--root_path={text}: a path such as /bert is needed; it begins with a slash and has no host")
    return text.rstrip("/")


class ServedModels(FlagGroup, heading="Models"):
    """Models to serve."""

    model: tuple[tuple[str, str], ...] = option(
        (),
        "model to serve, as NAME=DIRECTORY; may be given several times",
        read=read_models,
        repeated=True,
    )
    ensemble: tuple[tuple[str, tuple[str, ...]], ...] = option(
        (),
        "runs of bert-classify to serve as one model, as NAME=DIRECTORY,DIRECTORY, whose mean probabilities answer; a "
        "directory with several runs names all of them; may be given several times",
        read=read_ensembles,
        repeated=True,
        python_argument=False,
    )
    watch: bool = option(
        False,
        "load each new checkpoint of the directories, check it, and use it instead of the one before",
    )
    watch_seconds: int = option(5, "seconds between two looks at the directories with --watch", lower=1)


class Server(FlagGroup, heading="Server"):
    """The server's address, and access to it."""

    host: str = option("127.0.0.1", "address to listen on; 0.0.0.0: all addresses of the machine")
    port: int = option(8000, "port to listen on; 0: any free port, which the log names", lower=0, upper=65535)
    uds: str | None = option(
        None,
        "path of a unix socket to listen on, instead of --host and --port; --metrics_port still uses --host",
        path=True,
        excludes=("port", "host with no metrics_port"),
        because="a unix socket has no address",
    )
    ssl_certfile: str | None = option(None, "file with the certificate for TLS (PEM), and perhaps its key", path=True)
    ssl_keyfile: str | None = option(None, "file with the certificate's key", path=True, needs="ssl_certfile")
    metrics_port: int | None = option(
        None,
        "another port for GET /metrics, /health and /ready, without API key; 0: any free port",
        lower=0,
        upper=65535,
    )
    num_workers: int = option(1, "number of server processes; all share the weights in memory", lower=1)
    api_key_file: str | None = option(
        None,
        "file with API keys, KEY or NAME:KEY per line; limits may follow, such as models=a,b or texts_per_second=50; "
        "requests then need 'Authorization: Bearer KEY'",
        path=True,
    )
    trusted_proxies: tuple[IPNetwork, ...] = option(
        (),
        "addresses or networks of proxies, separated by commas, such as 10.0.0.0/8; their X-Forwarded-For names the "
        "client in the log",
        read=read_ip_networks,
    )
    root_path: str = option(
        "",
        "path below which a proxy publishes the server, such as /bert; the pages and openapi.json show it",
        read=read_root_path,
    )
    allowed_origins: tuple[str, ...] = option(
        (),
        "origins of web pages that may ask the server (CORS), separated by commas; * for all; none by default",
        read=read_origins,
    )
    allowed_hosts: tuple[str, ...] = option(
        (),
        "host names that requests may use, separated by commas, such as localhost,*.example.com; others get 400; "
        "all by default",
        read=read_hosts,
    )
    shutdown_delay: int = option(
        0,
        "seconds after SIGTERM in which requests are still answered while /ready is 503, so that a proxy turns away",
        lower=0,
    )
    drain_seconds: int = option(30, "seconds to finish running requests after SIGTERM and --shutdown_delay", lower=0)
    access_log: bool | None = option(None, "log a line per request, without its texts; default: with --log_format=json")


class Limits(FlagGroup, heading="Limits"):
    """Limits on requests."""

    max_body_bytes: int = option(4 << 20, "largest request body in bytes; a larger one is answered with 413", lower=1)
    max_texts: int = option(1000, "most texts in one request; more are answered with 413", lower=1)
    max_text_chars: int = option(50_000, "longest text in characters; a longer one is answered with 413", lower=1)
    max_queue: int = option(
        4000,
        "most texts that wait; further requests are answered with 429, and so are requests that would be late",
        lower=1,
    )
    request_timeout: int = option(
        30, "seconds to receive and to answer a request; then it is answered with 504", lower=1
    )
    explain: bool = option(True, "answer POST /explain, which takes as long as about 100 texts or more")
    max_explain_words: int = option(250, "most words that are explained in a text; more are answered with 413", lower=1)
    max_explanations: int = option(
        8, "most explanations that are computed at a time; further ones are answered with 429", lower=1
    )


@dataclasses.dataclass(frozen=True)
class ServeSettings:
    """Flags of bert-serve."""

    environment_prefix: ClassVar[str] = "BERT_SERVE_"
    essential: ClassVar[tuple[str, ...]] = (
        "output_dir", "model", "max_seq_length", "pooling", "labels", "watch", "host", "port", "metrics_port",
        "num_workers", "api_key_file", "root_path", "allowed_origins", "allowed_hosts", "shutdown_delay",
        "max_body_bytes", "max_texts", "max_text_chars", "max_queue", "request_timeout", "precision", "engine",
        "quiet", "log_format", "access_log",
    )  # fmt: skip
    modes: ClassVar[tuple[str, ...]] = ("output_dir or model or ensemble",)

    phases: Phases = group(
        Phases,
        {"output_dir": "model to serve: an output_dir, or any checkpoint or Hugging Face directory"},
        only=("output_dir",),
        output_dir="",
    )
    served: ServedModels = group(ServedModels)
    use: ModelUse = group(ModelUse)
    server: Server = group(Server)
    limits: Limits = group(Limits)
    devices: Devices = group(Devices, only=("precision", "engine", "num_threads"))
    log: Log = group(Log)

    @property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """Return the directories of each model by name; only an ensemble has several."""
        output_dir = self.phases.output_dir
        single = ({DEFAULT: output_dir} if output_dir else {}) | dict(self.served.model)
        return {name: (path,) for name, path in single.items()} | dict(self.served.ensemble)

    @property
    def folder_flags(self) -> dict[str, str]:
        """Return the name of the flag for each directory, for messages."""
        members = {folder: "ensemble" for _, folders in self.served.ensemble for folder in folders}
        return members | {folder: "model" for _, folder in self.served.model} | {self.phases.output_dir: "output_dir"}

    @property
    def logs_requests(self) -> bool:
        """Return whether the log has a line per request."""
        return self.log.log_format == JSON if self.server.access_log is None else self.server.access_log

    def model_flags(self) -> dict[str, ModelFlags]:
        """Return the flags for loading each model; raise InputError for a wrong value or name."""
        for flag in USE_FLAGS:
            for name, text in getattr(self.use, flag):
                refuse_if(
                    name and name not in self.paths,
                    f"--{flag}={name}={text}: there is no model {name}; the names are {', '.join(self.paths)}",
                )
        devices = {
            "precision": self.devices.precision,
            "engine": self.devices.engine,
            "num_threads": self.devices.num_threads,
        }
        flags = {name: flags_of_served_model(self.use, name, len(self.paths) == 1) for name in self.paths}
        return {name: dataclasses.replace(model, values={**model.values, **devices}) for name, model in flags.items()}
