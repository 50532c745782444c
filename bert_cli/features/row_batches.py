"""Assignment of rows to batches: training order, and groups of similar length."""

import itertools
from collections.abc import Iterator
from typing import TypeVar

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG

CHUNK = 512  # texts that are read and computed at a time
Item = TypeVar("Item")


def steps_and_batch(num_examples: int, batch_size: int, num_epochs: float) -> tuple[int, int]:
    """Return the number of training steps and the examples per step.

    Steps are int(examples / batch_size × epochs), as in the original. If that is 0, there is one
    step that uses all examples of the epochs.

    Args:
        num_examples: number of training examples.
        batch_size: examples per step.
        num_epochs: passes over the examples.

    Raises:
        InputError: there is no example, or the number of steps does not fit int32.
    """
    # int() rounds down, as in the original: an incomplete batch makes no step.
    steps = int(num_examples / batch_size * num_epochs)
    if steps > np.iinfo(np.int32).max:
        raise InputError(f"--num_train_epochs={num_epochs} makes {steps:.3g} training steps; give a smaller number")
    if steps:
        return steps, batch_size
    step_examples = int(num_examples * num_epochs)
    if not step_examples:
        raise InputError(
            f"{num_examples} examples for {num_epochs} epochs make no training step; give a larger --num_train_epochs"
        )
    LOG.warning(
        "warning: %d examples for %g epochs are less than one batch of %d: training has one step "
        "of %d examples",
        num_examples, num_epochs, batch_size, step_examples,
    )  # fmt: skip
    return 1, step_examples


def epoch_order(num_examples: int, seed: int, epoch: int) -> np.ndarray:
    """Return a full shuffle for one epoch, int64 [num_examples]; it depends only on seed and epoch."""
    # Seed with a pair: with a sum, seed 1 in epoch 2 would be seed 2 in epoch 1.
    return np.random.default_rng([seed, epoch]).permutation(num_examples)


def balance_lengths(lengths: np.ndarray) -> np.ndarray:
    """Return an order in which all halves, and halves of halves, have similar sums of `lengths`.

    So devices that share a batch by rows get similar numbers of tokens, for any number of devices.

    Args:
        lengths: length of each row in tokens, [n].

    Returns:
        Row numbers, int64 [n].
    """

    def deal(order: np.ndarray) -> np.ndarray:
        if len(order) <= 2:
            return order
        goes_first = np.isin(
            np.arange(len(order)) % 4, (0, 3)
        )  # the longest goes first, then two rows go to each side in turn
        return np.concatenate([deal(order[goes_first]), deal(order[~goes_first])])

    return deal(np.argsort(-lengths, kind="stable"))


def training_rows(
    num_examples: int, batch_size: int, seed: int, start_step: int = 0, lengths: np.ndarray | None = None
) -> Iterator[np.ndarray]:
    """Yield row numbers, int64 [batch_size], for batch `start_step` and all later ones, endlessly.

    Epochs follow one another without a gap. So a batch may contain the end of one epoch and the
    start of the next, and each example is seen once per epoch. Batch k does not depend on
    `start_step`.

    Args:
        num_examples: number of rows.
        batch_size: rows per batch.
        seed: seed of the shuffles, see epoch_order.
        start_step: number of the first batch.
        lengths: row lengths in tokens, used to balance each batch between devices (see
            `balance_lengths`).
    """
    position = start_step * batch_size
    # Compute the position from the step, so that a resumed run needs no data state.
    epoch, start = divmod(position, num_examples)
    rows = epoch_order(num_examples, seed, epoch)[start:]
    while True:
        while len(rows) < batch_size:
            epoch += 1
            rows = np.concatenate([rows, epoch_order(num_examples, seed, epoch)])
        chosen = rows[:batch_size]
        yield chosen if lengths is None else chosen[balance_lengths(lengths[chosen])]
        rows = rows[batch_size:]


def length_groups(lengths: np.ndarray, max_tokens: int) -> list[np.ndarray]:
    """Split rows into groups of similar length, longest first.

    Each group has at most `max_tokens` tokens, including padding. A row that is longer than
    `max_tokens` is a separate group. Use this for evaluation and prediction, where the order does
    not change the result. The longest rows go first, so that a lack of memory shows immediately.
    """
    # Sort stably: rows of equal length stay in file order, and two runs write the same bytes.
    order = np.argsort(-lengths, kind="stable")
    groups = []
    start = 0
    while start < len(order):
        size = max(1, max_tokens // max(1, int(lengths[order[start]])))
        groups.append(order[start : start + size])
        start += size
    return groups


_ENOUGH_TOKENS = 512  # tokens per batch; larger batches are no faster
# Maximum padding per batch: three tenths of its tokens, as only attention computes padding, or the
# number of tokens that cost as much as a call of a small model. Measured with texts of 12, 50 and
# mixed lengths, in chunks of 8, 64 and 512: 0.1 and 0.2 are slower, 0.5 is no faster.
_MOST_PADDING, _FEW_TOKENS = 0.3, 16


def similar_length_groups(lengths: np.ndarray, max_tokens: int) -> list[np.ndarray]:
    """Return equal_length_groups, but fill up small groups with shorter rows.

    A shorter row joins a group if the group then needs little padding.
    """
    order = np.argsort(-lengths, kind="stable")
    descending = lengths[order].tolist()
    groups = []
    start = 0
    while start < len(descending):
        longest = num_tokens = descending[start]
        end = start + 1
        max_end = start + max(1, max_tokens // max(1, longest))
        while end < min(max_end, len(descending)):
            length = descending[end]
            padding = longest * (end + 1 - start) - num_tokens - length
            is_large = length < longest and longest * (end - start) >= _ENOUGH_TOKENS
            if is_large or padding > max(_FEW_TOKENS, _MOST_PADDING * (num_tokens + length)):
                break
            num_tokens += length
            end += 1
        groups.append(order[start:end])
        start = end
    return groups


def equal_length_groups(lengths: np.ndarray, max_tokens: int) -> list[np.ndarray]:
    """Split rows into groups of the same length with at most `max_tokens` tokens, longest first.

    See length_groups for rows that are longer.
    """
    order = np.argsort(-lengths, kind="stable")
    buckets = np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1)
    return [rows[group] for rows in buckets for group in length_groups(lengths[rows], max_tokens)]


def iterate_chunks(items: Iterator[Item], size: int = CHUNK) -> Iterator[list[Item]]:
    """Yield lists of `size` items; the last list may be shorter."""
    while chunk := list(itertools.islice(items, size)):
        yield chunk
