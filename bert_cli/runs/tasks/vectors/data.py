"""Dataset of bert-train-vectors: pairs of texts with their features, and the vectors to train."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Self

import numpy as np

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import quote
from bert_cli.base.json_files import JsonObject
from bert_cli.base.log import LOG
from bert_cli.examples.table_texts import PairTable, read_pairs
from bert_cli.examples.text_lines import make_line
from bert_cli.features.classification import sequence_lines
from bert_cli.features.packing import describe_cuts
from bert_cli.features.vectors import PairFeatures, TextSequences, pair_features
from bert_cli.metrics.vectors import SCORED_METRICS, SEARCH_METRICS
from bert_cli.model.config import BertConfig
from bert_cli.opening.bundle import ModelBundle
from bert_cli.outputs.dry_run import SplitStatistics
from bert_cli.predicting.vector_recipe import VectorFlags, VectorRecipe, choose_recipe
from bert_cli.problem_types.pair_losses import COSENT, COSINE, MULTIPLE_NEGATIVES, PAIR_LOSSES, PairLoss
from bert_cli.reading.columns.facts import DataFacts, log_facts
from bert_cli.reading.columns.pairs import PairRules
from bert_cli.reading.probe import TableFile, open_table
from bert_cli.reading.rows import refuse_rows
from bert_cli.runs.tasks.dataset import InMemoryDataset, InMemorySplit
from bert_cli.sentence.steps import Dense, LayerNorm, with_normalize
from bert_cli.settings.data import NO_COLUMN
from bert_cli.settings.vectors import AUTO, VectorTrainingSettings

VectorBundle = ModelBundle[BertConfig]


@dataclasses.dataclass(frozen=True)
class PairSplit(InMemorySplit):
    """Pairs from one file, with their features."""

    table: PairTable
    features: PairFeatures

    @property
    def num_rows(self) -> int:
        return len(self.table.pairs)

    def statistics(self) -> SplitStatistics:
        pairs = self.table.pairs
        texts = [(pair.text_a, pair.text_b, *pair.negatives) for pair in pairs]
        return SplitStatistics(texts, [pair.score for pair in pairs], self.features.sequences.lengths, "text")

    def take(self, rows: np.ndarray) -> Self:
        table = self.table._replace(pairs=[self.table.pairs[row] for row in rows])
        return dataclasses.replace(self, table=table, features=self.features.take(rows))


@dataclasses.dataclass(frozen=True)
class VectorDataset(InMemoryDataset):
    """Pairs that a run uses.

    Attributes:
        settings: the run's flags.
        model: the model's files.
        recipe: the steps from a text to its vector.
        splits: train and dev, if the run needs them.
        loss: training loss; None without training.
        data_facts: accounts of files, by split.
    """

    settings: VectorTrainingSettings
    model: VectorBundle
    recipe: VectorRecipe
    splits: Mapping[str, PairSplit]
    loss: PairLoss | None = None
    data_facts: Mapping[str, DataFacts] = dataclasses.field(default_factory=dict)

    @property
    def metrics(self) -> tuple[str, ...]:
        dev = self.splits.get("dev", self.splits.get("train"))
        return SCORED_METRICS if dev is not None and dev.table.has_scores else SEARCH_METRICS

    @property
    def undefined_metrics(self) -> dict[str, str]:
        dev = self.splits.get("dev")
        if dev is None or not dev.table.has_scores or np.ptp(dev.features.scores) > 0:
            return {}
        return dict.fromkeys(SCORED_METRICS, "all pairs of the dev file have the same score")

    def _split_lines(self, split: PairSplit, count: int, has_ids: bool) -> list[str]:
        lines = []
        for row, pair in enumerate(split.table.pairs[:count]):
            lines += ["*** Example ***", f"line: {pair.line}"]
            first = row * split.features.text_ids.shape[1]
            for number in range(first, first + 2 + len(pair.negatives)):
                lines += sequence_lines(split.features.sequences, number, self.model.tokenizer, has_ids)
            lines += [] if pair.score is None else [f"score: {pair.score:g}"]
        return lines

    def facts(self) -> JsonObject:
        return {"vectors": self.recipe.facts()} | ({"loss": self.loss.name} if self.loss else {})


def read_pair_dataset(
    settings: VectorTrainingSettings, model: VectorBundle, tables: Mapping[str, TableFile] = MappingProxyType({})
) -> VectorDataset:
    """Read the splits that the phases need.

    Args:
        model: the model's files.
        tables: tables in memory by split, to use instead of files.

    Raises:
        InputError: a file has no pairs, or the loss needs other data.
    """
    recipe = vector_recipe_of_settings(settings, model)
    rules = PairRules(settings.columns, settings.pair_columns, settings.data.header)
    needed = {"train": settings.phases.do_train, "dev": settings.phases.do_eval}
    paths = {"train": settings.data.train_file, "dev": settings.data.dev_file}
    splits: dict[str, PairSplit] = {}
    loss = None
    for split in (split for split, is_needed in needed.items() if is_needed):
        refuse_if(
            split not in tables and not paths[split],
            f"--{split}_file is needed: a table of pairs to {'train on' if split == 'train' else 'evaluate'}",
        )
        table_file = tables.get(split) or open_table(paths[split] or "", f"{split}_file", settings.text_form)
        table = read_pairs(table_file, rules)
        log_facts(table.facts)
        if split == "train":
            _check_mining(settings, table, model)
            loss = choose_loss(settings, table)
        splits[split] = make_pair_split(split, table, recipe, model)
    if dev := splits.get("dev"):
        _check_dev(dev)
    facts = {name: split.table.facts for name, split in splits.items()}
    return VectorDataset(settings, model, recipe, splits, loss, facts)


def vector_recipe_of_settings(settings: VectorTrainingSettings, model: VectorBundle) -> VectorRecipe:
    """Return the steps from a text to its vector, by the flags and the model's modules."""
    vectors = settings.vectors
    folder = model.folder if model.checkpoint else os.path.dirname(model.config_name)
    length = settings.encoding.max_seq_length
    flags = VectorFlags(vectors.pooling, None, vectors.normalize, length, strict=settings.model.strict)
    recipe = choose_recipe(flags, folder, model.config)
    if not recipe.is_followed and vectors.normalize is None:
        recipe = dataclasses.replace(recipe, steps=with_normalize((), True))
    constants = [str(step) for step in recipe.steps if isinstance(step, Dense | LayerNorm)]
    if constants and settings.phases.do_train:
        LOG.warning("warning: the encoder is trained, and not what follows it: %s", ", ".join(constants))
    return recipe


def make_pair_split(split: str, table: PairTable, recipe: VectorRecipe, model: VectorBundle) -> PairSplit:
    """Return a table's pairs with their features, and log how many there are.

    Args:
        split: its name.
        recipe: steps before the encoder.
        model: the tokenizer.
    """

    def encode(texts: Sequence[str]) -> TextSequences:
        lines = (make_line(number, text, None) for number, text in enumerate(texts))
        [chunk] = recipe.chunks(lines, model.tokenizer, max_lines=len(texts))
        return TextSequences(chunk.sequences, chunk.cuts)

    features = pair_features(table.pairs, encode)
    num_texts = features.cuts.num_texts
    LOG.info("%s: %d rows of %d different texts", split, len(features), num_texts)
    if line := describe_cuts(features.cuts, recipe.max_seq_length, "texts"):
        LOG.info("%s: %s", split, line)
    return PairSplit(table, features)


def choose_loss(settings: VectorTrainingSettings, table: PairTable) -> PairLoss:
    """Return the loss of --loss; raise InputError if the training table does not have its data."""
    name, path = settings.pair_training.loss, table.path
    if name == AUTO:
        loss = COSENT if table.has_scores else MULTIPLE_NEGATIVES
        LOG.info("--loss=%s: the pairs have %s", loss.name, "scores" if table.has_scores else "no scores")
        return loss
    loss = PAIR_LOSSES[name]
    column = "".join(table.facts.columns.get("score", ()))
    if loss.uses_scores and not table.has_scores:
        advice = "name their column in --score_column"
        raise InputError(f"{path}: has no scores, which --loss={name} needs; {advice}")
    if table.has_scores and not loss.uses_scores:
        raise InputError(
            f"{path}: has scores ({quote(column)}), and --loss={name} needs pairs that belong together; "
            f"leave --loss out, or give --score_column={NO_COLUMN} to use no scores"
        )
    if loss.needs_negatives and not (table.has_negatives or settings.pair_training.mine_negatives):
        advice = "name their columns in --negative_columns, or give --mine_negatives=1"
        raise InputError(f"{path}: has no negatives, which --loss={name} needs; {advice}")
    if loss is COSINE:
        refuse_rows(
            path,
            [(pair.line, pair.score) for pair in table.pairs if abs(pair.score or 0) > 1],
            lambda score: f"the score is {score:g}, and --loss={name} needs cosines, from -1 to 1",
            "divide the scores by the largest one, or use --loss=cosent",
        )
    return loss


def _check_mining(settings: VectorTrainingSettings, table: PairTable, model: VectorBundle) -> None:
    """Raise InputError if --mine_negatives does not fit the training pairs or the model."""
    count = settings.pair_training.mine_negatives
    has = "scores" if table.has_scores else "negatives" if table.has_negatives else ""
    flag = "score_column" if table.has_scores else "negative_columns"
    refuse_if(
        count and has,
        f"{table.path}: has {has}, which --mine_negatives does not go with; leave it out, or give --{flag}={NO_COLUMN}",
    )
    refuse_if(count and not model.checkpoint, "--mine_negatives: random weights find no negatives; leave it out")


def _check_dev(dev: PairSplit) -> None:
    """Raise InputError if nothing can be searched in the dev pairs."""
    if not dev.table.has_scores and all(pair.text_a == pair.text_b for pair in dev.table.pairs):
        raise InputError(f"{dev.table.path}: both texts of each pair are equal: nothing can be searched")
