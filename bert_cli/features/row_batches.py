"""Which rows make up which batch: the order of training, and groups of similar length."""

from collections.abc import Iterator

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.log import LOG


def steps_and_batch(num_examples: int, batch_size: int, num_epochs: float) -> tuple[int, int]:
    """The number of training steps, int(examples / batch_size × epochs) as the original counts, and
    the examples of each.

    Where that is 0 there is one step, of the examples that the epochs have. InputError where there
    is no example, or the number does not fit int32.
    """
    # int() cuts, as in the original: a rest of a batch makes no step.
    steps = int(num_examples / batch_size * num_epochs)
    if steps > np.iinfo(np.int32).max:
        raise InputError(f"--num_train_epochs={num_epochs} makes {steps:.3g} training steps; give a smaller number")
    if steps:
        return steps, batch_size
    seen = int(num_examples * num_epochs)
    if not seen:
        raise InputError(
            f"{num_examples} examples for {num_epochs} epochs make no training step; give a larger --num_train_epochs"
        )
    LOG.warning(
        "warning: %d examples for %g epochs are less than one batch of %d: training has one step "
        "of %d examples",
        num_examples, num_epochs, batch_size, seen,
    )  # fmt: skip
    return 1, seen


def epoch_order(num_examples: int, seed: int, epoch: int) -> np.ndarray:
    """The order of one epoch: a full shuffle that depends on seed and epoch alone, int64
    [num_examples].
    """
    # As a pair: with the sum, seed 1 in epoch 2 would be seed 2 in epoch 1.
    return np.random.default_rng([seed, epoch]).permutation(num_examples)


def dealt(lengths: np.ndarray) -> np.ndarray:
    """An order in which each half, and each half of a half, has about the same sum of `lengths`
    [n]; int64 [n].

    So devices that share a batch by its rows have about as many tokens each, whatever their number
    is.
    """

    def deal(order: np.ndarray) -> np.ndarray:
        if len(order) <= 2:
            return order
        goes_first = np.isin(np.arange(len(order)) % 4, (0, 3))  # the longest, then in turn two by two
        return np.concatenate([deal(order[goes_first]), deal(order[~goes_first])])

    return deal(np.argsort(-lengths, kind="stable"))


def training_rows(
    num_examples: int, batch_size: int, seed: int, start_step: int = 0, lengths: np.ndarray | None = None
) -> Iterator[np.ndarray]:
    """Row numbers, int64 [batch_size], of batch `start_step` and all that follow, without end.

    lengths: of all examples, in tokens, for an order within each batch that balances its shares:
    see `dealt`.

    Epochs follow one another without a gap, so a batch may hold the end of one and the start of the
    next, and each example is seen once per epoch. Batch k is the same whatever step the iteration
    starts from.
    """
    position = start_step * batch_size
    # Computed from the step, so that a run that goes on needs no state of its data.
    epoch, taken = divmod(position, num_examples)
    rows = epoch_order(num_examples, seed, epoch)[taken:]
    while True:
        while len(rows) < batch_size:
            epoch += 1
            rows = np.concatenate([rows, epoch_order(num_examples, seed, epoch)])
        chosen = rows[:batch_size]
        yield chosen if lengths is None else chosen[dealt(lengths[chosen])]
        rows = rows[batch_size:]


def length_groups(lengths: np.ndarray, max_tokens: int) -> list[np.ndarray]:
    """Split all rows into groups of similar length, longest first, each of at most `max_tokens`
    tokens with padding.

    For evaluation and prediction, where order does not matter to the result; a row longer than that
    is a group of one. The longest go first so that a lack of memory shows at once.
    """
    # Stable, so that rows of equal length stay in file order and two runs give the same bytes.
    order = np.argsort(-lengths, kind="stable")
    groups = []
    start = 0
    while start < len(order):
        size = max(1, max_tokens // max(1, int(lengths[order[start]])))
        groups.append(order[start : start + size])
        start += size
    return groups


_ENOUGH_TOKENS = 512  # of a batch: more of them at once are computed no faster
# Of a batch: three tenths of its tokens, as only attention computes padding (measured with texts of
# 12, of 50 and of mixed lengths, in chunks of 8, 64 and 512: 0.1 and 0.2 are slower, 0.5 is no faster),
# or as many as the call of a small model costs.
_MOST_PADDING, _FEW_TOKENS = 0.3, 16


def similar_length_groups(lengths: np.ndarray, max_tokens: int) -> list[np.ndarray]:
    """As equal_length_groups, but small groups are joined with shorter rows, as far as they need
    little padding.
    """
    order = np.argsort(-lengths, kind="stable")
    descending = lengths[order].tolist()
    groups = []
    start = 0
    while start < len(descending):
        longest = real = descending[start]
        end = start + 1
        most = start + max(1, max_tokens // max(1, longest))
        while end < min(most, len(descending)):
            length = descending[end]
            padding = longest * (end + 1 - start) - real - length
            is_large = length < longest and longest * (end - start) >= _ENOUGH_TOKENS
            if is_large or padding > max(_FEW_TOKENS, _MOST_PADDING * (real + length)):
                break
            real += length
            end += 1
        groups.append(order[start:end])
        start = end
    return groups


def equal_length_groups(lengths: np.ndarray, max_tokens: int) -> list[np.ndarray]:
    """Split all rows into groups of the same length, longest first, each of at most `max_tokens`
    tokens; see length_groups.
    """
    order = np.argsort(-lengths, kind="stable")
    buckets = np.split(order, np.flatnonzero(np.diff(lengths[order])) + 1)
    return [rows[group] for rows in buckets for group in length_groups(lengths[rows], max_tokens)]
