"""Cross-validation: the data is read and tokenized once, and each fold trains on the rows of the others."""

import contextlib
import logging
import os
from collections.abc import Sequence
from typing import Any

from bert_cli.base.names import OUT_OF_FOLD, SUSPECTS
from bert_cli.examples.splitting import stratified_folds
from bert_cli.flags.option import changed
from bert_cli.runs.loading.checkpoints import choose_checkpoint
from bert_cli.runs.tasks.interface import DivisibleDataset, Evaluation, Task
from bert_cli.settings.training import TrainingSettings

LOG = logging.getLogger("bert_cli")


class Folds:
    """The folds of one cross-validation, `count` of them; see examples.splitting."""

    def __init__(self, task: Task[Any, Any], settings: TrainingSettings, count: int):
        """Reads and tokenizes the training data of a task."""
        once = changed(settings, {"do_eval": False, "do_predict": False})
        reader = task.again(once)
        model = reader.load(choose_checkpoint(once.model, once.hub, once.phases))
        with contextlib.ExitStack() as stack:
            self._whole: DivisibleDataset = reader.read(model, stack)
        self._folds = stratified_folds(self._whole.strata(), count, settings.seed.random_seed)

    def subset(self, number: int) -> DivisibleDataset:
        """The data of the fold with this number, from 1."""
        return self._whole.subset(self._folds == number - 1)

    def write(self, folder: str, evaluations: Sequence[Evaluation]) -> None:
        """out_of_fold.tsv and suspects.tsv; evaluations: of all folds, in order."""
        paths = os.path.join(folder, OUT_OF_FOLD), os.path.join(folder, SUSPECTS)
        count = self._whole.write_folds(paths, self._folds, evaluations)
        LOG.info("wrote %s and %s: %d rows and %d", *paths, len(self._folds), count)
