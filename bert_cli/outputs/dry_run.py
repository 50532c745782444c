"""Data statistics for --dry_run and the report, and the time and memory forecast of --dry_run.

They use data and a trial with a few steps (runs/engine/probe.py). No TensorFlow here.
"""

import hashlib
import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bert_cli.base.formats import byte_size, clock
from bert_cli.base.json_files import JsonObject
from bert_cli.features.ragged import RaggedFeatures

_SHOWN = 60  # maximum characters per text in a message
_BARS = 24  # maximum bars in the length histogram
_PERCENTILES = (5, 25, 50, 75, 95, 99)
# The forward pass's share in a training step: for each product, the backward pass computes two.
FORWARD_SHARE = 1 / 3
_DIGITS = {"bytes": 0, "kB": 0, "MB": 1, "GB": 1}  # decimals for amounts of memory
_DISK = 300e6  # assumed write speed for checkpoints, in bytes per second


class SplitStatistics(NamedTuple):
    """Rows in a split.

    Attributes:
        texts: text or texts per row; equal entries are duplicates.
        labels: label per row, None for rows without label.
        lengths: number of tokens before cutting, per row or window.
        unit: noun used for the items that have lengths.
    """

    texts: Sequence[Hashable]
    labels: Sequence[Hashable]
    lengths: np.ndarray
    unit: str = "row"


def data_digest(splits: Iterable[SplitStatistics]) -> str:
    """Return a digest of texts and labels in order, which does not depend on the tokenizer.

    It is "" if there is no split.
    """
    digest = hashlib.sha256()
    is_empty = True
    for split in splits:
        is_empty = False
        for row in zip(split.texts, split.labels, strict=True):
            digest.update(repr(row).encode("utf-8", "backslashreplace"))
    return "" if is_empty else digest.hexdigest()[:16]


class ProbeResult(NamedTuple):
    """Measurements from a few training steps.

    Attributes:
        first: seconds for the first step, which has the largest batch and includes compilation.
        seconds: seconds for each later step.
        tokens: tokens in each later step.
        mean_tokens: mean number of tokens in an epoch's steps.
        saving: seconds to assemble a checkpoint.
        checkpoint_bytes: checkpoint size.
        memory: peak memory in bytes, on `memory_of`.
        memory_of: name of the device or the host.
        passes_once: whether a frozen encoder computes each row only once, not in each epoch.
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


def describe_row(text: Hashable) -> str:
    """Return a row's text or texts for a message: quoted, on one line, shortened."""
    texts = [part_text for part_text in text if part_text is not None] if isinstance(text, tuple) else [text]
    line = " ".join(" | ".join(map(str, texts)).split())
    return repr(line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…")


def length_line(lengths: np.ndarray, unit: str, max_seq_length: int) -> str:
    """Return length percentiles, and how many lengths exceed max_seq_length.

    Args:
        lengths: int [n], in tokens.
        unit: noun used for the items that have lengths.
        max_seq_length: maximum tokens.
    """
    if not len(lengths):
        return f"no {unit}"
    # "higher" selects a length that occurs, not a mean of two lengths.
    values = np.percentile(lengths, _PERCENTILES, method="higher").astype(int)
    percentiles = ", ".join(f"{percentile}% {value}" for percentile, value in zip(_PERCENTILES, values, strict=True))
    over = int((lengths > max_seq_length).sum())
    return (
        f"tokens in a {unit}: least {lengths.min()}, {percentiles}, most {lengths.max()}, mean "
        f"{lengths.mean():.1f}; {over} of {len(lengths)} have more than {max_seq_length}"
    )


def unknown_line(sequences: RaggedFeatures, unknown_id: int, special_ids: Sequence[int]) -> str:
    """Return how many tokens are [UNK], not counting special tokens.

    Args:
        sequences: token sequences.
        unknown_id: id of [UNK].
        special_ids: ids of special tokens.
    """
    total = len(sequences.token_ids) - int(np.isin(sequences.token_ids, special_ids).sum())
    unknown = int((sequences.token_ids == unknown_id).sum())
    return f"[UNK]: {unknown} of {total} tokens ({unknown / max(1, total):.2%})"


def repeated_lines(statistics: SplitStatistics) -> list[str]:
    """Return messages about repeated rows in a split, and about texts with different labels.

    Rows are numbered from 1.
    """
    # Compare the texts, not their hashes: a collision would be a false alarm.
    first: dict[Hashable, int] = {}
    repeats: list[tuple[int, int]] = []
    conflicts: dict[Hashable, tuple[int, int]] = {}
    for row, text in enumerate(statistics.texts):
        earlier = first.setdefault(text, row)
        if earlier == row:
            continue
        repeats.append((earlier, row))
        if statistics.labels[earlier] != statistics.labels[row]:
            conflicts.setdefault(text, (earlier, row))
    lines = []
    if repeats:
        earlier, row = repeats[0]
        lines.append(
            f"duplicates: {len(repeats)} rows have the text of an earlier one, such as row {row + 1} "
            f"and row {earlier + 1}: {describe_row(statistics.texts[row])}"
        )
    if conflicts:
        text, (earlier, row) = next(iter(conflicts.items()))
        first_label, second_label = statistics.labels[earlier], statistics.labels[row]
        lines.append(
            f"conflicting labels: {len(conflicts)} texts have different labels, such as rows "
            f"{earlier + 1} ({first_label}) and {row + 1} ({second_label}): {describe_row(text)}"
        )
    return lines


def leak_lines(splits: Mapping[str, SplitStatistics]) -> list[str]:
    """Return a message for each pair of splits if the second one repeats texts from the first."""
    lines = []
    for split, later_split in itertools.combinations(splits, 2):
        # Reverse, so that the first row's label counts if texts are equal.
        label_by_text = dict(zip(reversed(splits[split].texts), reversed(splits[split].labels), strict=True))
        statistics = splits[later_split]
        rows = [row for row, text in enumerate(statistics.texts) if text in label_by_text]
        if not rows:
            continue
        pairs = [(statistics.labels[row], label_by_text[statistics.texts[row]]) for row in rows]
        differing = sum(None not in pair and pair[0] != pair[1] for pair in pairs)
        lines.append(
            f"leak: {len(rows)} of {len(statistics.texts)} rows of {later_split} are in {split} too"
            + (f", {differing} of them with another label" if differing else "")
            + f", such as row {rows[0] + 1}: {describe_row(statistics.texts[rows[0]])}"
        )
    return lines


def make_forecast(
    trial: ProbeResult, steps: int, epochs: float, saves: int, other_tokens: int, reading: float, starting: float
) -> dict[str, float]:
    """Return the forecast seconds for each phase in a run.

    Args:
        trial: measurements from a few steps.
        steps: number of training steps.
        epochs: number of epochs.
        saves: number of checkpoints.
        other_tokens: tokens in the splits to evaluate and predict.
        reading: measured seconds to read the data.
        starting: measured seconds to start the model, including its first step.
    """
    # Scale by tokens, not by steps: padding is not computed, so short batches are faster.
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
    """Return the forecast as log lines.

    Args:
        forecast: seconds by phase, from make_forecast.
        trial: measurements from a few steps.
        steps: number of training steps.
        batch_size: rows per step.
    """
    total = sum(forecast.values())
    # Do not average over the tried steps: they are few, and include the largest batch.
    step = sum(trial.seconds) / max(1, sum(trial.tokens)) * trial.mean_tokens
    phases = ", ".join(f"{name} {clock(seconds)}" for name, seconds in forecast.items() if seconds >= 0.5)
    memory, checkpoint = (byte_size(size, **_DIGITS) for size in (trial.memory, trial.checkpoint_bytes))
    return [
        f"steps: {steps}, of {batch_size} rows and {trial.mean_tokens:.0f} tokens on average; "
        f"{1000 * step:.0f} ms each ({len(trial.seconds)} tried)",
        f"time: about {clock(total)} ({phases})",
        f"memory: about {memory} ({trial.memory_of}); a checkpoint has {checkpoint}",
    ]


def length_figures(lengths: np.ndarray, limit: int) -> JsonObject:
    """Return statistics of token counts, ready for JSON.

    The keys are rows, limit, mean, median, longest, edges and counts. counts[i] is the number of
    lengths with edges[i] ≤ length < edges[i + 1].

    Args:
        lengths: int [n], n > 0, including special tokens, none above `limit`.
        limit: max_seq_length.
    """
    longest = int(lengths.max())
    # Use whole token widths, rounded up: bars with different widths would look like peaks.
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
