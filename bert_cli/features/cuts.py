"""Tokens that texts lost to a maximal length, and the line of the log about them."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass

from bert_cli.base.log import LOG


@dataclass(frozen=True)
class Cuts:
    """Counts of texts and tokens. [CLS] and [SEP] are not counted.

    num_texts       all texts
    num_cut_texts   texts that lost tokens
    num_tokens      tokens of all texts before they were cut
    num_cut_tokens  tokens that were left out
    """

    num_texts: int = 0
    num_cut_texts: int = 0
    num_tokens: int = 0
    num_cut_tokens: int = 0

    def __add__(self, other: "Cuts") -> "Cuts":
        return Cuts(*map(sum, zip(astuple(self), astuple(other), strict=True)))


NOT_CUT = Cuts()


def cuts_of(lengths: Sequence[int], max_tokens: int) -> Cuts:
    """Return the counts for texts of these lengths, each cut to `max_tokens`."""
    lost = [length - max_tokens for length in lengths if length > max_tokens]
    return Cuts(len(lengths), len(lost), sum(lengths), sum(lost))


def describe_cuts(cuts: Cuts, max_tokens: int, noun: str = "texts") -> str:
    """Return what was cut, such as `1 of 2 texts were cut to 16 tokens: …`, or "" for nothing."""
    if not cuts.num_cut_texts:
        return ""
    share = cuts.num_cut_tokens / cuts.num_tokens
    return (
        f"{cuts.num_cut_texts} of {cuts.num_texts} {noun} were cut to {max_tokens} tokens: "
        f"{cuts.num_cut_tokens} of {cuts.num_tokens} tokens ({share:.1%}) were left out"
    )


def warn_cuts(cuts: Cuts, max_tokens: int, noun: str = "texts", place: str = "", advice: str = "") -> None:
    """Log a warning if texts were cut, with the file that they are from and what to do."""
    if line := describe_cuts(cuts, max_tokens, noun):
        ending = f"; {advice}" if advice else ""
        LOG.warning("%swarning: %s%s", f"{place}: " if place else "", line, ending)
