"""Replacement of served models by newer checkpoints (--watch)."""

import threading
from collections.abc import Mapping

from bert_cli.base.errors import first_line
from bert_cli.base.log import LOG
from bert_cli.serving.served_model import Options, load_served
from bert_cli.serving.service import Service
from bert_cli.weights.path import find_checkpoint


class Watcher:
    """Thread that regularly looks for new checkpoints."""

    def __init__(self, service: Service, paths: Mapping[str, str], options: Options, seconds: float):
        """Start the thread.

        Args:
            service: contains the models that are replaced.
            paths: each model's directory, by name. The newest checkpoint there is used.
            options: flags for loading.
            seconds: time between two checks.
        """
        self._service = service
        self._paths = dict(paths)
        self._options = options
        self._seconds = seconds
        # By model name: the checkpoint that could not be loaded, or else the error message.
        self._rejected: dict[str, str] = {}
        self._stop_event = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._stop_event.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop_event.wait(self._seconds):
            for name, path in self._paths.items():
                self.update(name, path)

    def update(self, name: str, path: str) -> None:
        """Replace the model if its directory has a checkpoint that is not served yet.

        A checkpoint that cannot be loaded is logged once, and the old model continues.

        Args:
            name: name of the model.
            path: its directory.
        """
        newest = self._rejected.get(name, "")
        try:
            # Be strict: a damaged checkpoint is an error here, instead of using an older one.
            newest = find_checkpoint(path, "output_dir", strict=True).location
            if newest in (self._service.models[name].checkpoint.location, self._rejected.get(name)):
                return
            # Load and check the new model while the old one still answers.
            model = load_served(name, newest, self._options)
        except Exception as error:
            if self._rejected.get(name) != (newest or str(error)):
                self._rejected[name] = newest or str(error)
                served = self._service.models[name].checkpoint.name
                LOG.error("error: %s cannot be used: %s; %s goes on", newest or path, first_line(error), served)
            return
        self._rejected.pop(name, None)
        # Replace the entry in one assignment, so that a batch uses either the old or the new model.
        self._service.models[name] = model
        LOG.info("%s: now serving %s", name, model.checkpoint.name)
