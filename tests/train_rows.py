"""Training of a session on rows in memory, for tests, and a callback made of a function."""

from bert_cli.runs.engine.training_inputs import RowInput
from bert_cli.runs.engine.training_run import train
from bert_cli.training.loop import Callback


class Called(Callback):
    """Calls call(step) when it is due."""

    def __init__(self, every, call, saves=False):
        self.every, self.saves, self.on_step = every, saves, call


def train_rows(session, features, updates, saving, folder, state=None, factors=None, callbacks=()) -> dict:
    """training_run.train; returns its figures."""
    return train(session, RowInput(features), updates, factors or {}, saving, str(folder), state, callbacks)
