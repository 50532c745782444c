"""Scores of sentence vectors: correlation of similarities, and search among texts."""

import warnings

import numpy as np

from bert_cli.metrics.classification import CORRELATIONS
from bert_cli.metrics.selection import MetricsByName

SCORED_METRICS = ("eval_spearman", "eval_pearson")
RANKS = (1, 5, 10)  # k of recall@k
SEARCH_METRICS = ("eval_mrr", *(f"eval_recall_at_{rank}" for rank in RANKS))
_QUERIES = 256  # queries whose cosines are in memory together
SLOW_PACKAGES = ("scipy.stats",)


def cosines_of_pairs(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the cosines of vectors at the same index, float32 [n]; 0 for a vector of zeros.

    Args:
        first, second: float32 [n, W].
    """
    return np.sum(unit_vectors(first) * unit_vectors(second), axis=1)


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Return vectors [n, W] with a length of 1; a vector of zeros stays."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def similarity_results(cosines: np.ndarray, scores: np.ndarray) -> MetricsByName:
    """Return the correlations of cosines with scores, and the number of pairs.

    Correlations are left out if all cosines are equal.

    Args:
        cosines: float32 [n].
        scores: float32 [n], not all equal.
    """
    # Import late: it takes a second, and search does not need it.
    from scipy.stats import pearsonr, spearmanr

    results: MetricsByName = {}
    if np.ptp(cosines) > 0:
        with warnings.catch_warnings():
            # Nearly equal cosines are a result, too.
            warnings.simplefilter("ignore")
            statistics = (pearsonr(cosines, scores)[0], spearmanr(cosines, scores)[0])
        results = dict(zip(CORRELATIONS, map(np.float32, statistics), strict=True))
    return {name: results[name] for name in SCORED_METRICS if name in results} | {"eval_pairs": len(scores)}


def search_results(vectors: np.ndarray, pairs: np.ndarray) -> MetricsByName:
    """Return mean reciprocal rank, recall@k, and how many queries and texts there are.

    Each different first text is a query that searches all different second texts, except itself.
    Its targets are the second texts that are paired with it. If another text has the same cosine
    as a target, it precedes the target. So a model with equal vectors for all texts finds nothing.

    eval_mrr            mean reciprocal rank, using the target that is found first
    eval_recall_at_k    share of targets among the first k texts, as a mean over queries

    Args:
        vectors: float32 [texts, W].
        pairs: first and second texts as indices of `vectors`, int [n, 2].
    """
    pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    queries, starts = np.unique(pairs[:, 0], return_index=True)
    corpus, targets = np.unique(pairs[:, 1], return_inverse=True)
    targets_of_queries = np.split(targets, starts[1:])
    units = unit_vectors(vectors)
    ranks: list[np.ndarray] = []
    for start in range(0, len(queries), _QUERIES):
        chunk = queries[start : start + _QUERIES]
        cosines = units[chunk] @ units[corpus].T  # [queries, corpus]
        cosines[chunk[:, np.newaxis] == corpus] = -np.inf
        ranks += map(_find_ranks, cosines, targets_of_queries[start : start + _QUERIES])
    results: MetricsByName = {"eval_mrr": np.float32(np.mean([1 / query_ranks.min() for query_ranks in ranks]))}
    for rank in RANKS:
        shares = [np.mean(query_ranks <= rank) for query_ranks in ranks]
        results[f"eval_recall_at_{rank}"] = np.float32(np.mean(shares))
    return results | {"eval_queries": len(queries), "eval_texts": len(corpus)}


def _find_ranks(cosines: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the ranks at which a query finds its targets, from 1, int64 [targets].

    Args:
        cosines: cosines between query and texts, float32 [texts].
        targets: indices of texts.
    """
    values = cosines[targets]
    other_cosines = np.sort(np.delete(cosines, targets))
    # Another target precedes this one only if its cosine is larger.
    num_targets_before = np.sum(values > values[:, np.newaxis], axis=1)
    return 1 + len(other_cosines) - np.searchsorted(other_cosines, values) + num_targets_before
