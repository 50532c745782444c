"""Folds of a cross-validation: the data for each of them, and the tables with all rows."""

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from bert_cli.base.log import LOG
from bert_cli.base.names import OUT_OF_FOLD, SUSPECTS
from bert_cli.flags.option import flag_values, replace_values
from bert_cli.opening.checkpoints import checkpoint_to_start_from
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.sweep.trials import repeat_seeds
from bert_cli.runs.tasks.dataset import DivisibleDataset, data_for_trial, with_selection_split
from bert_cli.runs.tasks.interface import Evaluation, MakeTask
from bert_cli.runs.tasks.opening import SharedNetwork
from bert_cli.settings.data import HeldOut
from bert_cli.settings.training import TrainingSettings


class Folds:
    """Training data, divided into folds for a cross-validation (see examples.splitting)."""

    def __init__(
        self,
        make_task: MakeTask,
        settings: TrainingSettings,
        shared: SharedNetwork,
        rows: DivisibleDataset | None = None,
    ):
        """Read and tokenize the training data, and draw the folds.

        Args:
            make_task: see driver.run_phases.
            settings: flags for the cross-validation.
            shared: the trials' data and network.
            rows: the data to divide; None to read it.
        """
        values = flag_values(settings)
        single_run = replace_values(settings, {"do_eval": False, "do_predict": False, "dev_split": HeldOut()})
        seeds = repeat_seeds(settings)
        self._dataset: DivisibleDataset
        if rows is None:
            reader = make_task(single_run)
            model = reader.load(checkpoint_to_start_from(single_run.model, single_run.hub))
            with contextlib.ExitStack() as stack:
                self._dataset = shared.read(reader, model, stack)
            shared.num_words = len(np.union1d(self._dataset.training_features().sequences.token_ids, [0]))
        else:
            self._dataset = data_for_trial(rows, single_run)
        if len(seeds) > 1:
            LOG.info("the folds of the repeats are drawn with the seeds %s", ", ".join(map(str, seeds)))
        self._count = settings.sweep.cross_validation
        self._assignments = self._dataset.assign_folds(self._count, seeds)
        self._selection, seed = values["dev_split"], values["dev_split_seed"]
        self._selection_seed = settings.seed.random_seed if seed is None else seed

    def subset(self, number: int) -> DivisibleDataset:
        """Return the data for a fold; `number` counts from 1, over all repeats."""
        data = self.divided_rows(number)
        return with_selection_split(data, self._selection, self._selection_seed) if self._selection else data

    def divided_rows(self, number: int) -> DivisibleDataset:
        """Return the data for a fold, with no rows held out of its training."""
        repeat, fold = divmod(number - 1, self._count)
        return self._dataset.subset(self._assignments[repeat] == fold)

    def write(self, directory: RunDirectory, evaluations: Sequence[Evaluation[Any]]) -> None:
        """Write out_of_fold.tsv and suspects.tsv into a directory, from one evaluation per fold."""
        table, suspects = directory.file(OUT_OF_FOLD), directory.file(SUSPECTS)
        details = [evaluation.details for evaluation in evaluations]
        repeats = [details[first : first + self._count] for first in range(0, len(details), self._count)]
        count = self._dataset.write_folds((table, suspects), self._assignments, repeats)
        num_rows = len(self._assignments[0])
        LOG.info("wrote %s (%d rows) and %s (%d suspected label errors)", table, num_rows, suspects, count)
