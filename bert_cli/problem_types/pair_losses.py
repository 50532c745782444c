"""Losses for pairs of texts: a row per value of --loss, with the data that it needs."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class PairLoss:
    """A loss on pairs of texts; heads.vector_losses computes it.

    Attributes:
        name: the value of --loss.
        description: text for --help.
        uses_scores: whether it needs a score per pair; otherwise all pairs belong together.
        needs_negatives: whether each row needs texts that do not belong to its first text.
        compares_rows: whether rows of a batch are compared with each other.
    """

    name: str
    description: str
    uses_scores: bool = False
    needs_negatives: bool = False
    compares_rows: bool = False


MULTIPLE_NEGATIVES = PairLoss(
    "multiple_negatives",
    "the second texts of other rows in the batch, and the negatives, do not belong to a first text",
    compares_rows=True,
)
COSENT = PairLoss("cosent", "cosines have the order of the scores", uses_scores=True, compares_rows=True)
COSINE = PairLoss("cosine", "squared difference between cosine and score", uses_scores=True)
TRIPLET = PairLoss(
    "triplet", "the cosine of the second text is larger than a negative's, by --margin", needs_negatives=True
)
PAIR_LOSSES = {loss.name: loss for loss in (MULTIPLE_NEGATIVES, COSENT, COSINE, TRIPLET)}
