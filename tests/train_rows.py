"""Training on rows in memory, and a callback from a function, for tests."""

from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.engine.training_inputs import RowInput
from bert_cli.runs.engine.training_run import train
from bert_cli.training.loop import LoopCallback, TrainingFigures


class Called(LoopCallback):
    """Callback that calls a function at each step that is due."""

    def __init__(self, every, call, saves=False):
        self.every, self.saves, self.on_step = every, saves, call


def train_rows(
    engine, features, updates, saving, folder, state=None, factors=None, callbacks=(), **options
) -> TrainingFigures:
    """Train on features in memory and return the figures; see training_run.train."""
    directory = RunDirectory(str(folder))
    return train(engine, RowInput(features), updates, factors or {}, saving, directory, state, callbacks, **options)
