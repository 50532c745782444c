"""Statistics of the data, for --dry_run and the report, and the forecast of --dry_run: time and
memory of a training.

Computed from the data and from a trial of a few steps (runs/engine/probe.py); no TensorFlow here.
"""

import hashlib
import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bert_cli.base.formats import byte_size, clock
from bert_cli.features.ragged import RaggedFeatures

_SHOWN = 60  # characters of a text in a message
_BARS = 24  # of the histogram of lengths
_PERCENTILES = (5, 25, 50, 75, 95, 99)
# Of the seconds of a training step, what its forward pass takes: the backward pass computes two
# products for each of its.
FORWARD_SHARE = 1 / 3
_DIGITS = {"bytes": 0, "kB": 0, "MB": 1, "GB": 1}  # of amounts of memory
_DISK = 300e6  # bytes a second that a checkpoint is taken to be written with


class SplitStatistics(NamedTuple):
    """The n rows of a split. texts: what makes two rows the same; labels: None where there are
    none, also for one row.

    lengths: tokens of each row before anything is cut, or of each window; unit: what these are
    called.
    """

    texts: Sequence[Hashable]
    labels: Sequence[Hashable]
    lengths: np.ndarray
    unit: str = "row"


def data_digest(splits: Iterable[SplitStatistics]) -> str:
    """A digest of texts and labels, equal for equal data in the same order, whatever the tokenizer;
    "" without a split.
    """
    total = hashlib.sha256()
    is_empty = True
    for split in splits:
        is_empty = False
        for row in zip(split.texts, split.labels, strict=True):
            total.update(repr(row).encode("utf-8", "backslashreplace"))
    return "" if is_empty else total.hexdigest()[:16]


class ProbeResult(NamedTuple):
    """What a few steps of training took.

    first: seconds of the first step, which has the largest batch and the compilation; seconds and
    tokens: of each of the others; mean_tokens: of all steps of an epoch. saving: seconds to put a
    checkpoint together, with its checkpoint_bytes. memory: the most bytes that were taken, on
    `memory_of`. passes_once: a frozen encoder computes each row once, not in each epoch.
    """

    first: float
    seconds: list[float]
    tokens: list[int]
    mean_tokens: float
    saving: float
    checkpoint_bytes: int
    memory: int
    memory_of: str
    passes_once: bool = False


def shown(text: Hashable) -> str:
    """A text, or texts, of a row for a message: quoted, on one line, cut."""
    parts = [part for part in text if part is not None] if isinstance(text, tuple) else [text]
    line = " ".join(" | ".join(map(str, parts)).split())
    return repr(line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…")


def length_line(lengths: np.ndarray, unit: str, max_seq_length: int) -> str:
    """Percentiles of lengths, and how many are above max_seq_length."""
    if not len(lengths):
        return f"no {unit}"
    # "higher" gives a length that occurs, not a mean of two.
    values = np.percentile(lengths, _PERCENTILES, method="higher").astype(int)
    found = ", ".join(f"{percentile}% {value}" for percentile, value in zip(_PERCENTILES, values, strict=True))
    over = int((lengths > max_seq_length).sum())
    return (
        f"tokens in a {unit}: least {lengths.min()}, {found}, most {lengths.max()}, mean "
        f"{lengths.mean():.1f}; {over} of {len(lengths)} have more than {max_seq_length}"
    )


def unknown_line(sequences: RaggedFeatures, unknown_id: int, special_ids: Sequence[int]) -> str:
    """How many of the tokens, but for special ones, are [UNK]."""
    total = len(sequences.token_ids) - int(np.isin(sequences.token_ids, special_ids).sum())
    unknown = int((sequences.token_ids == unknown_id).sum())
    return f"[UNK]: {unknown} of {total} tokens ({unknown / max(1, total):.2%})"


def repeated_lines(statistics: SplitStatistics) -> list[str]:
    """Rows that come again within a split, and texts with more than one label; rows are numbered
    from 1.
    """
    # By the text itself, not by its hash: a collision would be a false alarm.
    first: dict[Hashable, int] = {}
    again: list[tuple[int, int]] = []
    conflicts: dict[Hashable, tuple[int, int]] = {}
    for row, text in enumerate(statistics.texts):
        before = first.setdefault(text, row)
        if before == row:
            continue
        again.append((before, row))
        if statistics.labels[before] != statistics.labels[row]:
            conflicts.setdefault(text, (before, row))
    lines = []
    if again:
        before, row = again[0]
        lines.append(
            f"duplicates: {len(again)} rows have the text of an earlier one, such as row {row + 1} "
            f"and row {before + 1}: {shown(statistics.texts[row])}"
        )
    if conflicts:
        text, (before, row) = next(iter(conflicts.items()))
        one, other = statistics.labels[before], statistics.labels[row]
        lines.append(
            f"conflicting labels: {len(conflicts)} texts have different labels, such as rows "
            f"{before + 1} ({one}) and {row + 1} ({other}): {shown(text)}"
        )
    return lines


def leak_lines(splits: Mapping[str, SplitStatistics]) -> list[str]:
    """For each two splits the rows of the second one whose text is also in the first one."""
    lines = []
    for one, other in itertools.combinations(splits, 2):
        # Reversed: of equal texts the label of the first row counts.
        known = dict(zip(reversed(splits[one].texts), reversed(splits[one].labels), strict=True))
        statistics = splits[other]
        rows = [row for row, text in enumerate(statistics.texts) if text in known]
        if not rows:
            continue
        pairs = [(statistics.labels[row], known[statistics.texts[row]]) for row in rows]
        differing = sum(None not in pair and pair[0] != pair[1] for pair in pairs)
        lines.append(
            f"leak: {len(rows)} of {len(statistics.texts)} rows of {other} are in {one} too"
            + (f", {differing} of them with another label" if differing else "")
            + f", such as row {rows[0] + 1}: {shown(statistics.texts[rows[0]])}"
        )
    return lines


def make_forecast(
    trial: ProbeResult, steps: int, epochs: float, saves: int, other_tokens: int, reading: float, starting: float
) -> dict[str, float]:
    """Seconds of each phase of a run with these numbers of steps and checkpoints.

    other_tokens: of the splits that are evaluated and predicted; reading, starting: seconds
    measured, for the data and for the model, its first step among them.
    """
    # By tokens, not by steps: padding is not computed, so short batches are faster.
    per_token = sum(trial.seconds) / max(1, sum(trial.tokens))
    step = per_token * trial.mean_tokens
    passes = steps / max(1.0, epochs) if trial.passes_once else steps
    return {
        "reading": reading,
        "starting": starting,
        "training": passes * step,
        "saving": saves * (trial.saving + trial.checkpoint_bytes / _DISK),
        "evaluating and predicting": other_tokens * per_token * FORWARD_SHARE,
    }


def forecast_lines(forecast: Mapping[str, float], trial: ProbeResult, steps: int, batch_size: int) -> list[str]:
    """The forecast for the log."""
    total = sum(forecast.values())
    # Not the mean of the steps that were tried: these are few, and the largest batch is among them.
    step = sum(trial.seconds) / max(1, sum(trial.tokens)) * trial.mean_tokens
    phases = ", ".join(f"{name} {clock(seconds)}" for name, seconds in forecast.items() if seconds >= 0.5)
    memory, checkpoint = (byte_size(size, **_DIGITS) for size in (trial.memory, trial.checkpoint_bytes))
    return [
        f"steps: {steps}, of {batch_size} rows and {trial.mean_tokens:.0f} tokens on average; "
        f"{1000 * step:.0f} ms each ({len(trial.seconds)} tried)",
        f"time: about {clock(total)} ({phases})",
        f"memory: about {memory} ({trial.memory_of}); a checkpoint has {checkpoint}",
    ]


def length_figures(lengths: np.ndarray, limit: int) -> dict[str, Any]:
    """Of int [n] tokens, n > 0, special ones included, none above `limit` (max_seq_length): ready
    for JSON.

    rows, limit, mean, median, longest; counts: how many have edges[i] tokens or more, and fewer
    than edges[i + 1].
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
