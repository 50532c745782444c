"""Interface of a task's dataset, and base classes for datasets in memory."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import EXAMPLES, LOG
from bert_cli.base.names import DATA_FACTS
from bert_cli.examples.splitting import assign_folds
from bert_cli.features.ragged import Features, RaggedFeatures
from bert_cli.outputs.dry_run import SplitStatistics, data_digest
from bert_cli.reading.columns.facts import DataFacts
from bert_cli.settings.data import HeldOut

SELECTION = "selection"  # split of training rows that choose a fold's best checkpoint


class Dataset:
    """Data that a run has read, with its features; frozen.

    Each task has a subclass. A method that a task does not need returns an empty value.

    Attributes:
        training_splits: split names that training may use.
        evaluation_splits: split names that an evaluation may use.
        data_facts: the account of each input file, by split.
    """

    training_splits: ClassVar[tuple[str, ...]] = ("train",)
    evaluation_splits: ClassVar[tuple[str, ...]] = ("dev",)
    data_facts: Mapping[str, DataFacts] = MappingProxyType({})

    @property
    def evaluation_files(self) -> tuple[str, ...]:
        """Return file names that an evaluation writes besides eval_results.txt."""
        return ()

    @property
    def prediction_files(self) -> tuple[str, ...]:
        """Return file names that a prediction writes into output_dir."""
        return ()

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return metric names that can be used to rank evaluations, the main one first."""
        raise NotImplementedError

    @property
    def undefined_metrics(self) -> dict[str, str]:
        """Return the metrics that no predictions can define on the evaluated data: name -> reason."""
        return {}

    def training_features(self) -> Features:
        """Return the training rows' features, for datasets in memory."""
        raise NotImplementedError

    @property
    def memory_splits(self) -> Mapping[str, "InMemorySplit"]:
        """Return the splits that are in memory, by name."""
        return {}

    def _sample(self, settings: Any) -> Self:
        """Return the data for a training run with these `settings`, which may use fewer rows."""
        return self

    def digest(self, names: Sequence[str]) -> str:
        """Return a digest of texts and labels in these splits, "" if they are not in memory."""
        splits = self.memory_splits
        return data_digest(splits[name].statistics() for name in names if name in splits)

    def example_lines(self, is_verbose: bool) -> Iterable[str]:
        """Return lines for the log about the first example, as tokens and label.

        Args:
            is_verbose: whether to show log.EXAMPLES examples per split, with token ids.
        """
        return ()

    def facts(self) -> JsonObject:
        """Return entries about the data for run_report.json, besides `data_facts`."""
        return {}


class InMemorySplit:
    """Rows of one split with their features; frozen."""

    features: Any

    @property
    def num_rows(self) -> int:
        """Return the number of rows."""
        raise NotImplementedError

    def statistics(self) -> SplitStatistics:
        """Return statistics about the rows for --dry_run."""
        raise NotImplementedError

    def take(self, rows: np.ndarray) -> Self:
        """Return a split with only these rows; `rows` are ascending indices, int64 [n]."""
        raise NotImplementedError


class InMemoryDataset(Dataset):
    """Dataset in memory; a dataclass.

    Attributes:
        splits: the splits that the run needs, by name.
    """

    splits: Mapping[str, Any]

    def training_features(self) -> Features:
        return self.splits["train"].features

    @property
    def memory_splits(self) -> Mapping[str, InMemorySplit]:
        return self.splits

    def example_lines(self, is_verbose: bool) -> Iterator[str]:
        count = EXAMPLES if is_verbose else 1
        for split in list(self.splits.values())[: None if is_verbose else 1]:
            yield from self._split_lines(split, count, is_verbose)

    def _split_lines(self, split: Any, count: int, has_ids: bool) -> list[str]:
        """Return lines for the log about the first `count` examples of `split`.

        `has_ids` adds token ids.
        """
        raise NotImplementedError


class DivisibleDataset(InMemoryDataset):
    """Dataset that --cross_validation can divide into folds."""

    def _strata(self) -> Sequence[str | float]:
        """Return the stratum of each training row; all folds get equal shares of each stratum."""
        raise NotImplementedError

    def assign_folds(self, count: int, seeds: Sequence[int]) -> list[np.ndarray]:
        """Return a fold number per training row, int64 [n], for each seed, which shuffles the rows."""
        strata = self._strata()
        return [assign_folds(strata, count, seed) for seed in seeds]

    def select_dev_rows(self, held_out: HeldOut, seed: int) -> set[int]:
        """Return training rows to hold out, stratified like folds; `seed` shuffles the rows."""
        raise NotImplementedError

    def subset(self, held_out: np.ndarray) -> Self:
        """Return a dataset for one fold: held-out training rows become the dev split.

        Args:
            held_out: bool [n], True for the rows to hold out.
        """
        raise NotImplementedError

    def write_folds(
        self, paths: tuple[str, str], assignments: Sequence[np.ndarray], details: Sequence[Sequence[Any]]
    ) -> int:
        """Write out_of_fold.tsv and suspects.tsv; return the number of suspected label errors.

        Args:
            paths: paths for the two files.
            assignments: index of the fold that held out each row, int64 [n], per repeat.
            details: Evaluation.details per repeat and fold.
        """
        raise NotImplementedError


def sample_rows(data: "AnyData", settings: Any) -> "AnyData":
    """Return the data for a run: a training may use a sample of the rows.

    Args:
        data: the dataset.
    """
    return data._sample(settings) if settings.phases.do_train else data


def move_held_out_rows(
    splits: Mapping[str, Any], held_out: np.ndarray, unit: str, held_out_name: str = "dev"
) -> dict[str, Any]:
    """Return splits with training rows in another split, and log the sizes.

    Args:
        splits: splits by name.
        held_out: bool [n], True for the rows to hold out.
        unit: plural noun for rows in the log, such as "sentences".
        held_out_name: name for their split.
    """
    train, divided = splits["train"], dict(splits)
    for name, is_in in (("train", ~held_out), (held_out_name, held_out)):
        rows = np.flatnonzero(is_in)
        divided[name] = train.take(rows)
        LOG.info("%s: %d of %d %s", name, len(rows), len(held_out), unit)
    return divided


AnyData = TypeVar("AnyData", bound=Dataset)
Divisible = TypeVar("Divisible", bound=DivisibleDataset)


def with_selection_split(data: Divisible, held_out: HeldOut, seed: int) -> Divisible:
    """Return a fold's dataset with other training rows held out, which choose its checkpoint.

    Args:
        data: the dataset.
        held_out: share or number of rows to hold out.
        seed: seed used to shuffle the rows.

    Raises:
        InputError: no row is left to train or evaluate on.
    """
    num_rows = data.splits["train"].num_rows
    dev_rows = data.select_dev_rows(held_out, seed)
    if not 0 < len(dev_rows) < num_rows:
        raise InputError(
            f"--dev_split={held_out}: holds out {len(dev_rows)} of the {num_rows} rows that a fold trains on; give "
            "another value"
        )
    splits = move_held_out_rows(data.splits, np.isin(np.arange(num_rows), list(dev_rows)), "rows", SELECTION)
    return dataclasses.replace(cast(Any, data), splits=splits)


def data_for_checkpoint_selection(data: AnyData) -> AnyData:
    """Return the dataset with the dev split that chooses the best checkpoint."""
    if not isinstance(data, InMemoryDataset) or SELECTION not in data.splits:
        return data
    splits = {name: split for name, split in data.splits.items() if name != SELECTION}
    return dataclasses.replace(cast(Any, data), splits=splits | {"dev": data.splits[SELECTION]})


def data_for_trial(data: Dataset, settings: Any) -> Any:
    """Return a run's data for another run of its sweep; None if that run has to read it again.

    Args:
        data: the data of the earlier run.
        settings: flags of the other run, which may have another seed, learning rate, batch size or
            number of steps, and another output_dir.
    """
    if not isinstance(data, InMemoryDataset):
        return None
    return dataclasses.replace(cast(Any, data), settings=settings) if hasattr(data, "settings") else data


def file_facts(data: Dataset) -> JsonObject:
    """Return the entry of run_report.json with the account of each input file, by split."""
    return {DATA_FACTS: {split: facts.to_json() for split, facts in data.data_facts.items()}}


def token_sequences(data: Dataset) -> dict[str, RaggedFeatures]:
    """Return the tokens of each split in memory."""
    return {name: split.features.sequences for name, split in data.memory_splits.items()}
