"""How long the sequences of a split are, for run_report.json and the report."""

from typing import Any

import numpy as np

_BARS = 24


def length_figures(lengths: np.ndarray, limit: int) -> dict[str, Any]:
    """Of int [n] tokens, n > 0, special ones included, none above `limit` (max_seq_length): ready for JSON.

    rows, limit, mean, median, longest; counts: how many have edges[i] tokens or more, and fewer than edges[i + 1].
    """
    longest = int(lengths.max())
    # Whole numbers of tokens, rounded up: bars of unlike widths would look like peaks.
    width = max(1, -(-longest // _BARS))
    edges = np.arange(0, longest + width + 1, width)
    counts, _ = np.histogram(lengths, edges)
    return {
        "rows": len(lengths),
        "limit": limit,
        "mean": round(float(lengths.mean()), 2),
        "median": float(np.median(lengths)),
        "longest": longest,
        "edges": edges.tolist(),
        "counts": counts.tolist(),
    }
