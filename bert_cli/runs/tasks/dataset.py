"""What a run has read: the interface of a task's data, and what all data in memory have in common."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from bert_cli.base.log import EXAMPLES, LOG
from bert_cli.features.ragged import Features, RaggedFeatures
from bert_cli.outputs.dry_run import SplitStatistics, data_digest


class Dataset:
    """What a run has read, with its features; frozen. Each task has one of its own; what a task has
    no use for is empty.

    metrics: names of what an evaluation gives, by which one run can be better than another, the
    task's main one first. training_splits, evaluation_splits: names of the splits that a training and
    an evaluation read, as far as they are there. prediction_files: names of what a prediction
    writes into output_dir; evaluation_files: of what an evaluation writes in addition to
    eval_results.txt. undefined_metrics: metrics that no predictions define on the evaluated data.
    """

    training_splits: ClassVar[tuple[str, ...]] = ("train",)
    evaluation_splits: ClassVar[tuple[str, ...]] = ("dev",)

    @property
    def evaluation_files(self) -> tuple[str, ...]:
        return ()

    @property
    def prediction_files(self) -> tuple[str, ...]:
        return ()

    @property
    def metrics(self) -> tuple[str, ...]:
        raise NotImplementedError

    @property
    def undefined_metrics(self) -> tuple[str, ...]:
        return ()

    def training_features(self) -> Features:
        """The rows that are trained on, where they are held in memory."""
        raise NotImplementedError

    def sequences(self) -> dict[str, RaggedFeatures]:
        """The tokens of each split, as far as they are held in memory."""
        return {}

    def statistics(self) -> dict[str, SplitStatistics]:
        """What --dry_run reports of each split, as far as it is held in memory."""
        return {}

    def digest(self, names: Sequence[str]) -> str:
        """A digest of the texts and labels of these splits; "" where none of them is held in
        memory.
        """
        known = self.statistics()
        return data_digest(known[name] for name in names if name in known)

    def example_lines(self, is_verbose: bool) -> Iterable[str]:
        """The first example of the run for the log, as tokens and label.

        is_verbose: the first log.EXAMPLES examples of each split, with their ids.
        """
        return ()

    def facts(self) -> dict[str, Any]:
        """What run_report.json says of the data."""
        return {}


class InMemorySplit:
    """The rows of one split, with their features; frozen."""

    features: Any

    def statistics(self) -> SplitStatistics:
        """The rows for --dry_run."""
        raise NotImplementedError

    def take(self, rows: np.ndarray) -> Self:
        """The rows of these numbers, which rise: int64 [n]."""
        raise NotImplementedError


class InMemoryDataset(Dataset):
    """A dataset in memory. splits: as far as they were asked for."""

    splits: Mapping[str, Any]

    def training_features(self) -> Features:
        return self.splits["train"].features

    def sequences(self) -> dict[str, RaggedFeatures]:
        return {name: split.features.sequences for name, split in self.splits.items()}

    def statistics(self) -> dict[str, SplitStatistics]:
        return {name: split.statistics() for name, split in self.splits.items()}

    def example_lines(self, is_verbose: bool) -> Iterator[str]:
        count = EXAMPLES if is_verbose else 1
        for split in list(self.splits.values())[: None if is_verbose else 1]:
            yield from self.split_lines(split, count, is_verbose)

    def split_lines(self, split: Any, count: int, has_ids: bool) -> list[str]:
        """The first `count` examples of a split as lines for the log; has_ids: with the ids."""
        raise NotImplementedError


class DivisibleDataset(InMemoryDataset):
    """A dataset with --cross_validation."""

    def strata(self) -> Sequence[str | float]:
        """What the folds are to have in the same proportions, of each training row; see
        examples.splitting.
        """
        raise NotImplementedError

    def subset(self, held_out: np.ndarray) -> Self:
        """The training rows but those held out, bool [n], as the training split, and those held out
        as the dev split.
        """
        raise NotImplementedError

    def divide(self, held_out: np.ndarray, unit: str) -> dict[str, Any]:
        """The splits of `subset`; unit: what the log calls the rows."""
        train = self.splits["train"]
        splits = dict(self.splits)
        for name, is_in in (("train", ~held_out), ("dev", held_out)):
            rows = np.flatnonzero(is_in)
            splits[name] = train.take(rows)
            LOG.info("%s: %d of %d %s", name, len(rows), len(held_out), unit)
        return splits

    def write_folds(self, paths: tuple[str, str], folds: np.ndarray, details: Sequence[Any]) -> int:
        """Write out_of_fold.tsv and suspects.tsv to these paths; returns how many lines the second
        has.

        folds: int64 [n], for each row the index of the model that it was held out from. details: of
        the evaluation of each model.
        """
        raise NotImplementedError
