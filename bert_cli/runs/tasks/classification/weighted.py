"""Task of bert-classify for a table in memory that has weights for its rows."""

import contextlib
import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from bert_cli.base.errors import refuse_if
from bert_cli.examples.table_files.probe import TableFile
from bert_cli.features.classification import with_weights
from bert_cli.runs.loading.bundle import AnyModel
from bert_cli.runs.run_directory.manifest import digest
from bert_cli.runs.tasks.classification.dataset import ClassificationDataset
from bert_cli.runs.tasks.classification.task import ClassificationTask
from bert_cli.runs.tasks.interface import Plan
from bert_cli.settings.classification import ClassifySettings

if TYPE_CHECKING:
    from bert_cli.heads.model import NetworkOptions, TaskModel


class WeightedTask(ClassificationTask):
    """Task of bert-classify with weights for the training rows' losses."""

    def __init__(self, settings: ClassifySettings, tables: Mapping[str, TableFile], weights: np.ndarray):
        """Use tables instead of files.

        Args:
            settings: the run's flags.
            tables: tables by split, see data.DataReader.
            weights: weights for the rows in the table `train`, float32 [n].
        """
        super().__init__(settings, tables)
        refuse_if(
            settings.distillation.distill_from,
            "sample_weight: does not go together with --distill_from, because a teacher's texts have no weights",
        )
        self.weights = weights

    def read(self, model: AnyModel, stack: contextlib.ExitStack) -> ClassificationDataset:
        """Read the splits, and use the weights of the rows that are in the training split."""
        data = super().read(model, stack)
        train = data.splits["train"]
        # The guid of a row in memory ends in its number, such as train-7.
        rows = [int(example.guid.rpartition("-")[2]) for example in train.texts]
        weighted = dataclasses.replace(train, features=with_weights(train.features, self.weights[rows]))
        return dataclasses.replace(data, splits={**data.splits, "train": weighted})

    def plan(self, *arguments: object) -> Plan:
        plan = super().plan(*arguments)  # type: ignore[arg-type]
        return plan._replace(deciding_values=plan.deciding_values | {"weights": digest(self.weights)})

    def make_model(self, model: AnyModel, data: ClassificationDataset, options: "NetworkOptions") -> "TaskModel":
        return super().make_model(model, data, {**options, "has_weights": True})  # type: ignore[typeddict-unknown-key]
