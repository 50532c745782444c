"""Cross-validation for bert-classify: the data is read and tokenized once, and each fold trains on the rows of the others."""

import contextlib
import logging
import os

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.kinds import MULTI_LABEL, MULTIPLE_CHOICE, REGRESSION
from bert_cli.base.names import OUT_OF_FOLD, SUSPECTS
from bert_cli.examples.classification import ClassificationExample
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.folds import stratified_folds
from bert_cli.outputs import folds as files_of_folds
from bert_cli.outputs.classification import Column, Probabilities
from bert_cli.runs import sources
from bert_cli.runs.checkpoint_choice import choose_checkpoint
from bert_cli.runs.classification import ClassificationTask
from bert_cli.runs.classification_data import known_problem_type
from bert_cli.runs.classification_results import SeveralLabels, make_answers
from bert_cli.runs.classification_split import Split
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.option import changed

LOG = logging.getLogger("bert_cli")


class _WholeTask(ClassificationTask):
    """The task of all rows."""

    def texts(self) -> tuple[list[ClassificationExample], ClassificationFeatures]:
        """The rows and their features, after `read`."""
        split = self.splits["train"]
        examples = [example for example in split.examples if isinstance(example, ClassificationExample)]
        assert isinstance(split.features, ClassificationFeatures), "a choice is refused before it is read"
        return examples, split.features


class FoldTask(ClassificationTask):
    """The training on all rows of another task but those `held_out`, bool [n], which are evaluated."""

    def __init__(self, settings: ClassifySettings, whole: "_WholeTask", held_out: np.ndarray):
        super().__init__(settings)
        self._whole, self._held_out = whole, held_out

    def read(self, model: sources.AnyModel, stack: contextlib.ExitStack) -> None:
        """Nothing is read anew."""
        whole, rows = self._whole, np.arange(len(self._held_out))
        self._data, self.labels, self.problem_type = whole.data, whole.labels, whole.problem_type
        self._answers = make_answers(self.problem_type, self.labels, self.settings.results, True, [])
        examples, features = whole.texts()
        for name, chosen in (("train", rows[~self._held_out]), ("dev", rows[self._held_out])):
            self.splits[name] = Split([examples[row] for row in chosen], features.take(chosen))
            LOG.info("%s: %d of %d rows", name, len(chosen), len(rows))


class Folds:
    """The folds of one cross-validation. `count` of them; each is stratified by label, see features.folds."""

    def __init__(self, settings: ClassifySettings, count: int):
        """Reads and tokenizes the training data."""
        if known_problem_type(settings) == MULTIPLE_CHOICE:
            raise InputError("--cross_validation is about texts with labels or numbers, not about a choice of endings")
        once = changed(settings, {"cross_validation": 0, "do_eval": False, "do_predict": False})
        self._whole = _WholeTask(once)
        model = self._whole.open(choose_checkpoint(once.start, once.model, once.hub, once.phases))
        with contextlib.ExitStack() as stack:
            self._whole.read(model, stack)
        self._examples, self._features = self._whole.texts()
        labels: list[object] = [example.label for example in self._examples]
        if self._whole.problem_type == REGRESSION:
            labels = [float(str(label)) for label in labels]
        self._folds = stratified_folds(labels, count, settings.seed.random_seed)
        self._tasks: dict[int, FoldTask] = {}

    def task(self, settings: ClassifySettings, number: int) -> FoldTask:
        """The task of the fold with this number, from 1."""
        self._tasks[number - 1] = FoldTask(settings, self._whole, self._folds == number - 1)
        return self._tasks[number - 1]

    def write(self, folder: str) -> None:
        """After all folds are evaluated: out_of_fold.tsv and suspects.tsv."""
        examples, features = self._examples, self._features
        texts = [(example.text_a, example.text_b) for example in examples]
        kind, names, ids = self._whole.problem_type, self._whole.labels, features.guids
        path = os.path.join(folder, SUSPECTS)
        found: dict[str, Column]
        if kind == REGRESSION:
            values = self._joined("values")
            found = {"predicted": values.astype(np.float32)}
            given = [str(value) for value in features.label_ids]
            count = files_of_folds.write_suspects_of_values(path, ids, features.label_ids, values, texts)
        elif kind == MULTI_LABEL:
            numbers, thresholds = self._joined("probabilities"), self._thresholds()
            has = features.label_ids > 0
            given = [self._several(row) for row in has]
            over = [self._several(row) for row in numbers >= thresholds]
            found = {"predicted": over, "probabilities": Probabilities(names, numbers)}
            count = files_of_folds.write_suspects_of_pairs(path, ids, has, numbers, thresholds, names, texts)
        else:
            numbers = self._joined("probabilities")
            given = [names[label] for label in features.label_ids]
            best = [names[column] for column in numbers.argmax(axis=1)]
            found = {"predicted": best, "probabilities": Probabilities(names, numbers)}
            count = files_of_folds.write_suspects_of_labels(path, ids, features.label_ids, numbers, names, texts)
        files_of_folds.write_folds(os.path.join(folder, OUT_OF_FOLD), ids, self._folds, given, found, texts)
        LOG.info("wrote %s and %s: %d rows and %d", os.path.join(folder, OUT_OF_FOLD), SUSPECTS, len(ids), count)

    def _several(self, has: np.ndarray) -> str:
        return ",".join(name for name, each in zip(self._whole.labels, has, strict=True) if each)

    def _thresholds(self) -> np.ndarray:
        """The mean over the folds, which differ where each tunes its own: float64 [labels]."""
        answers = [task.answers for task in self._tasks.values()]
        return np.mean([each.thresholds for each in answers if isinstance(each, SeveralLabels)], axis=0)

    def _joined(self, name: str) -> np.ndarray:
        """What the fold of each row found of it: [n, …]."""
        parts = {fold: task.found["dev"][name] for fold, task in self._tasks.items()}
        joined = np.empty((len(self._folds), *parts[0].shape[1:]), np.float32)
        for fold, values in parts.items():
            joined[self._folds == fold] = values
        return joined
