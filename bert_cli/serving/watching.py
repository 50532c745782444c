"""--watch: each new checkpoint of a folder is loaded, checked, and then used."""

import threading
from collections.abc import Mapping

from bert_cli.base.errors import first_line
from bert_cli.base.log import LOG
from bert_cli.serving.served_model import Options, load_served
from bert_cli.serving.service import Service
from bert_cli.weights.path import find_checkpoint


class Watcher:
    """A thread that looks at the folders every few seconds. paths: of the models, by name."""

    def __init__(self, service: Service, paths: Mapping[str, str], options: Options, seconds: float):
        self._service = service
        self._paths = dict(paths)
        self._options = options
        self._seconds = seconds
        self._refused: dict[str, str] = {}  # of a model the checkpoint that could not be used
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            for name, path in self._paths.items():
                self.look(name, path)

    def look(self, name: str, path: str) -> None:
        """Replace the model where its folder has a checkpoint that is not served yet."""
        newest = self._refused.get(name, "")
        try:
            # strict: a damaged checkpoint is an error here, and not replaced by an older one.
            newest = find_checkpoint(path, "output_dir", strict=True).location
            if newest in (self._service.models[name].checkpoint.location, self._refused.get(name)):
                return
            # Loaded and asked a first text next to the old model, which goes on answering.
            model = load_served(name, newest, self._options)
        except Exception as error:
            if self._refused.get(name) != (newest or str(error)):
                self._refused[name] = newest or str(error)
                served = self._service.models[name].checkpoint.name
                LOG.error("error: %s cannot be used: %s; %s goes on", newest or path, first_line(error), served)
            return
        self._refused.pop(name, None)
        # One assignment: a batch is computed by the old model or by the new one, never by both.
        self._service.models[name] = model
        LOG.info("%s: now serving %s", name, model.checkpoint.name)
