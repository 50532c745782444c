"""Hard negatives for --mine_negatives: second texts of other pairs that are similar."""

import dataclasses

import numpy as np

from bert_cli.base.log import LOG
from bert_cli.examples.table_texts import PairRow
from bert_cli.metrics.vectors import unit_vectors
from bert_cli.predicting.opening import VectorSettings, select_groups
from bert_cli.predicting.vectors import open_vectors
from bert_cli.runs.tasks.vectors.data import VectorDataset, make_pair_split

_ROWS = 256  # rows with cosines in memory together


def with_mined_negatives(data: VectorDataset, count: int) -> VectorDataset:
    """Return the dataset with negatives that the model finds before its training.

    Args:
        data: dataset with training pairs.
        count: maximum number of negatives per row.
    """
    split = data.splits["train"]
    pairs = split.table.pairs
    encoder = open_vectors(select_groups(VectorSettings, data.settings), data.model, data.recipe)
    texts = split.table.texts
    LOG.info("mining: the vectors of %d texts", len(texts))
    vectors = encoder.extract([(text, None) for text in texts]).vectors
    mined = mine_negatives(pairs, texts, vectors, count)
    num_negatives = sum(len(pair.negatives) for pair in mined)
    LOG.info("mining: %d negatives for %d rows", num_negatives, len(mined))
    train = make_pair_split("train", split.table._replace(pairs=mined), data.recipe, data.model)
    return dataclasses.replace(data, splits={**data.splits, "train": train})


def mine_negatives(pairs: list[PairRow], texts: list[str], vectors: np.ndarray, count: int) -> list[PairRow]:
    """Return the pairs with the most similar second texts of other pairs as negatives.

    Texts that are more similar to the first text than its own second text are left out, because
    they may belong to it. So are texts that are paired with it, and the text itself.

    Args:
        pairs: pairs without negatives.
        texts: all their texts.
        vectors: the texts' vectors, float32 [texts, W].
        count: maximum number of negatives per pair.
    """
    numbers = {text: number for number, text in enumerate(texts)}
    units = unit_vectors(vectors)
    candidates = list(dict.fromkeys(pair.text_b for pair in pairs))
    columns = {text: column for column, text in enumerate(candidates)}
    corpus = units[[numbers[text] for text in candidates]]
    related: dict[str, set[int]] = {}
    for pair in pairs:
        own_column = {columns[pair.text_a]} if pair.text_a in columns else set()
        related.setdefault(pair.text_a, own_column).add(columns[pair.text_b])
    mined = []
    for start in range(0, len(pairs), _ROWS):
        chunk = pairs[start : start + _ROWS]
        cosines = units[[numbers[pair.text_a] for pair in chunk]] @ corpus.T
        for pair, row in zip(chunk, cosines, strict=True):
            limit = row[columns[pair.text_b]]
            row[list(related[pair.text_a])] = np.inf
            allowed = np.flatnonzero(row <= limit)
            order = allowed[np.argsort(-row[allowed], kind="stable")]
            mined.append(pair._replace(negatives=tuple(candidates[column] for column in order[:count])))
    return mined
