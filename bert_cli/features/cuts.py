"""Counts of tokens that texts lost to a maximum length, and their log line."""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass

from bert_cli.base.log import LOG


@dataclass(frozen=True)
class Cuts:
    """Counts of texts and tokens, without [CLS] and [SEP].

    Attributes:
        num_texts: number of texts.
        num_cut_texts: number of texts that lost tokens.
        num_tokens: number of tokens before texts were cut.
        num_cut_tokens: number of tokens that were left out.
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
    """Return a sentence such as `1 of 2 texts were cut to 16 tokens: …`, "" if no text was cut.

    Args:
        cuts: the counts.
        max_tokens: the maximum length.
        noun: plural used for the texts.
    """
    if not cuts.num_cut_texts:
        return ""
    share = cuts.num_cut_tokens / cuts.num_tokens
    return (
        f"{cuts.num_cut_texts} of {cuts.num_texts} {noun} were cut to {max_tokens} tokens: "
        f"{cuts.num_cut_tokens} of {cuts.num_tokens} tokens ({share:.1%}) were left out"
    )


def warn_cuts(cuts: Cuts, max_tokens: int, noun: str = "texts", place: str = "", advice: str = "") -> None:
    """Log a warning if texts were cut.

    Args:
        cuts: the counts.
        max_tokens: the maximum length.
        noun: plural used for the texts.
        place: file of the texts, or "".
        advice: advice to add, or "".
    """
    if line := describe_cuts(cuts, max_tokens, noun):
        ending = f"; {advice}" if advice else ""
        LOG.warning("%swarning: %s%s", f"{place}: " if place else "", line, ending)


class CuttingModel:
    """Base class for models that cut long texts, and report this once per call.

    Attributes:
        on_cut: function of the counts and the maximum length in tokens. By default it logs a
            warning.
    """

    on_cut: Callable[[Cuts, int], None] = staticmethod(warn_cuts)
