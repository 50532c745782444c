"""Flags of ours that another program implies, as far as they fit the flags that it was given."""

import math
from collections.abc import Mapping, Sequence

_LINES, _EVALUATES_ALL = "line_by_line", "--max_eval_steps=0"
_MAX_PREDICTIONS = 20  # default of --max_predictions_per_seq, which is for 128 tokens
_MASKED_SHARE = "0.15"  # default of --masked_lm_prob


def implied_words(implied: Sequence[str], ours: Mapping[str, str]) -> list[str]:
    """Return implied flags that are not given, and the number of masks for masked words.

    Args:
        implied: flags with values that a program implies, see command_lines.Script.
        ours: values by flag of ours, "" for a switch.
    """
    excluded = ["--pack"] if _LINES in ours else []  # the script then joins no lines
    if "do_eval" not in ours and "--do_eval" not in implied:
        excluded.append(_EVALUATES_ALL)
    words = [word for word in implied if _name(word) not in ours and word not in excluded]
    if "--no_nsp" in implied and "max_predictions_per_seq" not in ours:
        values = dict(ours) | {_name(word): word.partition("=")[2] for word in words}
        length, share = values.get("max_seq_length", ""), values.get("masked_lm_prob", _MASKED_SHARE)
        # A program of this kind masks its share of any length.
        num_masks = math.ceil(int(length) * _number(share)) if length.isdecimal() else 0
        if num_masks > _MAX_PREDICTIONS:
            words.append(f"--max_predictions_per_seq={num_masks}")
    return words


def _name(word: str) -> str:
    return word.removeprefix("--").partition("=")[0]


def _number(text: str) -> float:
    """Return the number in a text, 0 if there is no finite one."""
    try:
        number = float(text)
    except ValueError:
        return 0.0
    return number if math.isfinite(number) else 0.0
