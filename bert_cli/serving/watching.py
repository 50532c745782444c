"""Reloading: newer checkpoints replace models (--watch), and SIGHUP reloads models and API keys."""

import contextlib
import queue
from collections.abc import Mapping, Sequence
from threading import Thread
from types import MappingProxyType

from bert_cli.base.errors import first_line
from bert_cli.base.log import LOG
from bert_cli.serving.keys import ApiKeys, Certificate
from bert_cli.serving.loading import load_served
from bert_cli.serving.service import Service
from bert_cli.settings.answering import ModelFlags
from bert_cli.weights.path import CheckpointPath, file_version, find_checkpoint


class Watcher:
    """Thread that looks for new checkpoints, regularly or when a reload is requested."""

    def __init__(
        self,
        service: Service,
        paths: Mapping[str, tuple[str, ...]],
        flags: Mapping[str, ModelFlags],
        keys: ApiKeys,
        certificate: Certificate | None,
        seconds: float | None,
        folder_flags: Mapping[str, str] = MappingProxyType({}),
    ):
        """Start the thread.

        Args:
            service: contains the models that are replaced.
            paths: each model's directories, by name. The newest checkpoints there are used.
            flags: flags for loading, by model name.
            keys: API keys that a reload reads again.
            certificate: certificate that a reload reads again, or None.
            seconds: time between two checks; None to check only on request.
            folder_flags: the flag that names a directory, for messages; others are named by
                --output_dir.
        """
        self._service = service
        self._paths = dict(paths)
        self._flags = flags
        self._keys = keys
        self._certificate = certificate
        self._seconds = seconds
        self._folder_flags = folder_flags
        # By model name: the checkpoint that could not be loaded, or else the error message.
        self._rejected: dict[str, str] = {}
        self._versions = {name: _find_versions(model.checkpoints) for name, model in service.models.items()}
        # Its `put` is reentrant, so signal handlers may call it. True requests a reload, False ends
        # the thread.
        self._requests: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._thread = Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def request_reload(self) -> None:
        """Let the thread read all files again; signal handlers may call this."""
        self._requests.put(True)

    def close(self) -> None:
        """End the thread."""
        self._requests.put(False)
        self._thread.join()

    def _run(self) -> None:
        while True:
            is_reload = None
            with contextlib.suppress(queue.Empty):
                is_reload = self._requests.get(timeout=self._seconds)
            if is_reload is False:
                return
            if is_reload:
                self._reload_keys()
                self._reload_certificate()
            for name, paths in self._paths.items():
                if is_reload:
                    # Try a rejected checkpoint again, because its files may have been repaired.
                    self._rejected.pop(name, None)
                self.update(name, *paths, is_reload=bool(is_reload))

    def _reload_keys(self) -> None:
        is_success = False
        try:
            self._keys.reload()
            is_success = True
            LOG.info("reload: %d API keys", len(self._keys))
        except Exception as error:
            LOG.error("error: %s; the old API keys stay valid", first_line(error))
        self._service.metrics.count_key_reload(is_success)

    def _reload_certificate(self) -> None:
        try:
            if self._certificate:
                self._certificate.reload()
                LOG.info("reload: the certificate")
        except Exception as error:
            LOG.error("error: %s; the old certificate stays in use", first_line(error))

    def update(self, name: str, *paths: str, is_reload: bool = False) -> None:
        """Replace the model if a directory of it has a checkpoint that is not served yet.

        A checkpoint that cannot be loaded is logged once, and the old model continues.

        Args:
            name: name of the model.
            paths: its directory, or the directories of an ensemble.
            is_reload: also replace a model if the files of its checkpoint have changed.
        """
        newest = self._rejected.get(name, "")
        served = self._service.models[name]
        try:
            # Be strict: a damaged checkpoint is an error here, instead of using an older one.
            labels = [self._folder_flags.get(path, "output_dir") for path in paths]
            checkpoints = [find_checkpoint(path, label, strict=True) for path, label in zip(paths, labels, strict=True)]
            newest = _join_locations(checkpoints)
            versions = _find_versions(checkpoints)
            is_newer = newest != _join_locations(served.checkpoints)
            has_changed = is_newer or (is_reload and versions != self._versions[name])
            if not has_changed and is_reload:
                LOG.info("reload: %s: %s is the newest checkpoint", name, served.source)
            if not has_changed or newest == self._rejected.get(name):
                return
            # Load and check the new model while the old one still answers.
            model = load_served(name, self._flags[name], *checkpoints)
        except Exception as error:
            if self._rejected.get(name) != (newest or str(error)):
                self._rejected[name] = newest or str(error)
                self._service.metrics.count_reload(name, is_success=False)
                LOG.error(
                    "error: %s cannot be used: %s; %s stays in use",
                    newest or ", ".join(paths),
                    first_line(error),
                    served.source,
                )
            return
        self._rejected.pop(name, None)
        self._versions[name] = versions
        self._service.replace_model(name, model)
        self._service.metrics.count_reload(name, is_success=True)
        LOG.info("%s: now serving %s", name, model.source)


def _join_locations(checkpoints: Sequence[CheckpointPath]) -> str:
    return ", ".join(checkpoint.location for checkpoint in checkpoints)


def _find_versions(checkpoints: Sequence[CheckpointPath]) -> list[tuple[str, int, int]]:
    return [version for checkpoint in checkpoints for version in file_version(checkpoint.location)]
