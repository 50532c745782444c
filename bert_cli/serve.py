"""Serve trained models over HTTP.

POST /predict answers a text, a pair, a question, or a list of them with the JSON of --input_file.
Clients of OpenAI (vectors), TensorFlow Serving, KServe v2 and Text Embeddings Inference are answered,
too. GET / is a page to try the models, GET /docs describes the interface, GET /metrics is for
Prometheus. Needs the extra serve, or the distribution bert_cli_light.

Requests that wait are computed together. Without a GPU, onnxruntime computes (--engine).

Each flag can also be set by an environment variable, such as BERT_SERVE_PORT for --port.

Examples:

    bert-classify --do_train --train_file=data/reviews.csv \\
      --output_dir=bert_output/reviews
    bert-serve --output_dir=bert_output/reviews
    bert-serve --model=reviews=bert_output/reviews --port=9000
"""

import dataclasses
import functools
import signal
from typing import TYPE_CHECKING

from bert_cli.base.errors import refuse_if
from bert_cli.base.log import LOG
from bert_cli.flags.command import Command
from bert_cli.opening.paths import ensemble_members
from bert_cli.runtime.installing import require_packages
from bert_cli.runtime.machine import describe_threads
from bert_cli.runtime.signals import blocking_signal, ending_on_sigterm
from bert_cli.serving.http.listening import listening
from bert_cli.serving.keys import ApiKeys, Certificate
from bert_cli.settings.devices import forget_cluster
from bert_cli.settings.serving import DEFAULT, ServeSettings, is_loopback
from bert_cli.weights.path import find_checkpoint

if TYPE_CHECKING:
    from bert_cli.serving.processes import SharedResources
    from bert_cli.serving.workers import Supervisor

_PACKAGES = ("starlette", "uvicorn", "httptools", "prometheus_client")


def check(settings: ServeSettings, given_names: frozenset[str]) -> ServeSettings:
    """Return the settings with the members of each ensemble.

    Raise InputError for a repeated name, a wrong ensemble, or without the packages.
    """
    settings.model_flags()
    ensembles, model_names = dict(settings.served.ensemble), [name for name, _ in settings.served.model]
    names = [*([DEFAULT] if settings.phases.output_dir else []), *model_names, *ensembles]
    name = next((name for name in names if names.count(name) > 1), None)
    refuse_if(name, f"--model or --ensemble={name}=…: names two models; {DEFAULT} is the model of --output_dir")
    require_packages(_PACKAGES, "bert-serve", "serve")
    members = {name: tuple(ensemble_members(folders, f"--ensemble={name}")) for name, folders in ensembles.items()}
    return dataclasses.replace(settings, served=dataclasses.replace(settings.served, ensemble=tuple(members.items())))


# A reload that is requested while the models load happens afterwards.
@blocking_signal(signal.SIGHUP)
def run(settings: ServeSettings) -> None:
    """Serve until a signal asks to stop."""
    server = settings.server
    forget_cluster()
    if not (server.api_key_file or server.uds or is_loopback(server.host)):
        LOG.warning(
            "warning: --host=%s without --api_key_file: every machine that reaches this one can use the models",
            server.host,
        )
    LOG.info("threads per process: %s", describe_threads(settings.devices.num_threads))
    keys = ApiKeys(server.api_key_file, tuple(settings.paths))
    certificate = Certificate(server.ssl_certfile, server.ssl_keyfile) if server.ssl_certfile else None
    folders = [folder for paths in settings.paths.values() for folder in paths]
    checkpoints = {folder: find_checkpoint(folder, settings.folder_flags[folder]) for folder in folders}
    # Import everything else later: clients need not wait for a port that listens.
    with listening(server) as listeners:
        from bert_cli.serving.processes import SharedCheckpoints, SharedResources, list_this_process, shared_metrics
        from bert_cli.serving.workers import Supervisor

        if server.num_workers == 1:
            _work(settings, keys, SharedResources(listeners, list_this_process, certificate=certificate), Supervisor())
            return
        with shared_metrics() as list_processes:
            _run_workers(
                settings, keys, SharedResources(listeners, list_processes, SharedCheckpoints(checkpoints), certificate)
            )


def _run_workers(settings: ServeSettings, keys: ApiKeys, shared: "SharedResources") -> None:
    """Answer requests in several processes that share sockets, weights and metrics."""
    from bert_cli.serving.metrics import restart_counter
    from bert_cli.serving.workers import run_workers

    reloads = [keys.reload, *([shared.certificate.reload] if shared.certificate else [])]
    work = functools.partial(_work, settings, keys, shared)
    exit_code = run_workers(settings.server.num_workers, work, reloads, restart_counter().inc)
    refuse_if(exit_code, "the server processes end by themselves; their errors are above")


def _work(settings: ServeSettings, keys: ApiKeys, shared: "SharedResources", supervisor: "Supervisor") -> None:
    """Load the models, then answer requests, in one process.

    Args:
        shared: sockets, weights and metrics.
        supervisor: the process that started this one.
    """
    from bert_cli.runtime.spans import open_spans
    from bert_cli.serving.access import RequestLog
    from bert_cli.serving.http.protocol import ServerState
    from bert_cli.serving.http.server import serve
    from bert_cli.serving.loading import load_served
    from bert_cli.serving.service import Service
    from bert_cli.serving.watching import Watcher

    paths, flags, folder_flags = settings.paths, settings.model_flags(), settings.folder_flags
    with ending_on_sigterm("bert-serve: stopped by SIGTERM; nothing was lost"):
        # Find the checkpoints again: a process that replaces another one uses the newest ones.
        models = {
            name: load_served(
                name, flags[name], *(shared.checkpoints.find(path, folder_flags[path]) for path in folders)
            )
            for name, folders in paths.items()
        }
    service = Service(models, settings.limits, shared.list_processes)
    for model in service.models.values():
        LOG.info("model %s: a %s, %s", model.name, model.kind, model.source)
    watch_seconds = settings.served.watch_seconds if settings.served.watch else None
    watcher = Watcher(service, paths, flags, keys, shared.certificate, watch_seconds, folder_flags)
    request_log = RequestLog(settings.server.trusted_proxies) if settings.logs_requests else None
    metrics_port = shared.listeners[1].getsockname()[1] if len(shared.listeners) > 1 else None
    server = settings.server
    # Open them here: their thread would not survive the start of this process.
    spans = open_spans()
    state = ServerState(service, keys, server.root_path, request_log, metrics_port, server.allowed_hosts, spans)
    signal.signal(signal.SIGHUP, lambda number, frame: watcher.request_reload())
    # Processes of --num_workers block the signal until here.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})
    serve(state, shared, settings.limits, settings.server, supervisor)
    watcher.close()


main = Command("bert-serve", __doc__, ServeSettings, run, check, "nothing was lost", ends_on_sigterm=True)


if __name__ == "__main__":
    raise SystemExit(main())
