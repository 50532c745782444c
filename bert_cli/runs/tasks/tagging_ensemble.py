"""Mean tags of several taggers, for the sentences of one command."""

import contextlib
from collections.abc import Mapping, Sequence

from bert_cli.base.log import LOG
from bert_cli.flags.option import replace_values
from bert_cli.inference.rows import Predictor
from bert_cli.opening.paths import find_members
from bert_cli.outputs.answers.tagging import TagPrediction, mean_tags
from bert_cli.runs.tasks import opening
from bert_cli.runs.tasks.averaging import member_settings
from bert_cli.runs.tasks.tagging import TaggingTask, predict_split
from bert_cli.runs.tasks.tagging_data import TaggingDataset, TaggingSplit
from bert_cli.settings.tagging import REPLACED_FLAGS, TagSettings

Computed = Mapping[str, tuple[list[TagPrediction], float]]  # predictions and their rate, by split


class MeanTaggingTask(TaggingTask):
    """Task with predictions that the members of an ensemble have computed before."""

    def __init__(self, settings: TagSettings, means: Computed):
        """Use the mean predictions in `means`, by split."""
        super().__init__(settings)
        self._means = means

    def _predict_split(
        self, predictor: Predictor, data: TaggingDataset, split: TaggingSplit, batch_size: int, title: str
    ) -> tuple[list[TagPrediction], float]:
        name = next(name for name, content in data.splits.items() if content is split)
        return self._means[name]


def average_taggers(settings: TagSettings) -> tuple[MeanTaggingTask, TaggingDataset, Sequence[str]]:
    """Return a task and a dataset with a sweep's mean predictions, and its runs' directories.

    Args:
        settings: see averaging.settings_of_sweep.
    """
    folders = find_members((settings.phases.output_dir,))
    LOG.info("the mean of %d runs predicts: %s", len(folders), ", ".join(folders))
    members = [_predict(TaggingTask(member_settings(settings, folder, REPLACED_FLAGS))) for folder in folders]
    data = members[0][0]
    means = {}
    for name in members[0][1]:
        predictions = [computed[name][0] for _, computed in members]
        rate = min(computed[name][1] for _, computed in members)
        means[name] = (mean_tags(predictions, data.labels, data.decoding), rate)
    final = member_settings(settings, folders[0], REPLACED_FLAGS)
    changes = {"output_dir": settings.phases.output_dir, "init_checkpoint": folders[0], "report": False}
    return MeanTaggingTask(replace_values(final, changes), means), data, folders


def _predict(task: TaggingTask) -> tuple[TaggingDataset, Computed]:
    """Return a member's dataset, and its predictions for each split."""
    settings = task.settings
    model = opening.load_task_model(task, settings)
    with contextlib.ExitStack() as stack:
        data = task.read(model, stack)
    predictor, _ = opening.open_trained_task(task, model, data, settings)
    sizes = {"dev": settings.inference.eval_batch_size, "test": settings.inference.predict_batch_size}
    return data, {
        name: predict_split(predictor, data, data.splits[name], size, "predicting")
        for name, size in sizes.items()
        if name in data.splits
    }
