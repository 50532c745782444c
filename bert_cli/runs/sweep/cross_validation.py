"""Cross-validation: the data is read and tokenized once, and each fold trains on the rows of the others."""

import contextlib
import logging
import os
from typing import Any

from bert_cli.base.names import OUT_OF_FOLD, SUSPECTS
from bert_cli.examples.folds import stratified_folds
from bert_cli.flags.option import changed
from bert_cli.runs.loading.checkpoints import choose_checkpoint
from bert_cli.runs.tasks.interface import DividedTask
from bert_cli.settings.training import TrainingSettings

LOG = logging.getLogger("bert_cli")


class Folds:
    """The folds of one cross-validation, `count` of them; see examples.folds."""

    def __init__(self, task: DividedTask[Any], settings: TrainingSettings, count: int):
        """Reads and tokenizes the training data of a task."""
        once = changed(settings, {"do_eval": False, "do_predict": False})
        self._whole = task.again(once)
        model = self._whole.open(choose_checkpoint(once.model, once.hub, once.phases))
        with contextlib.ExitStack() as stack:
            self._whole.read(model, stack)
        self._folds = stratified_folds(self._whole.strata(), count, settings.seed.random_seed)
        self._parts: list[DividedTask[Any]] = []

    def task(self, settings: TrainingSettings, number: int) -> DividedTask[Any]:
        """The task of the fold with this number, from 1; they are asked for in order."""
        self._parts.append(self._whole.part(settings, self._folds == number - 1))
        return self._parts[number - 1]

    def write(self, folder: str) -> None:
        """After all folds are evaluated: out_of_fold.tsv and suspects.tsv."""
        paths = os.path.join(folder, OUT_OF_FOLD), os.path.join(folder, SUSPECTS)
        count = self._whole.write_folds(paths, self._folds, self._parts)
        LOG.info("wrote %s and %s: %d rows and %d", *paths, len(self._folds), count)
