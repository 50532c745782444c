"""Flags of other programs, and the flags to use instead.

The programs are scripts by Hugging Face and NVIDIA, TensorFlow's model garden, forks of Google's
scripts, sentence-transformers, optimum, and bert-as-service. The rows are in flags.tsv.
"""

import functools
import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from bert_cli.base.errors import mentioned_flags

_LEAST_SIMILARITY = 0.85  # difflib's ratio; lower guesses are mostly wrong (max_steps and max_texts: 0.78)
_MAX_NAMES = 20  # unknown flags in a message
_LEAST_PREFIX = 4  # letters in an abbreviated flag
OFF = ("false", "no", "0", "f", "n")  # values that switch a foreign flag off, in lower case
_SWITCHED_OFF = "it is off here; leave it out"
_FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "flags.tsv")


class Advice(NamedTuple):
    """Advice about another program's flag, a row in flags.tsv.

    Attributes:
        flags: the flag to use instead, such as --precision=float16, or several with commas and "or".
        note: remark on the flag; without one, the reason why none is needed.
        values: pairs THEIRS=OURS. An empty OURS needs no flag, and OURS with hyphens are flags.
            Instead, "/100" is a percentage, "directory" a file that becomes a directory, and "port"
            a container's port.
        remark: "yes" if a translated command line uses the note as a comment, "kept" if it keeps an
            environment variable. "processes" and "machines" are a launcher's numbers.
    """

    flags: str
    note: str = ""
    values: str = ""
    remark: str = ""

    @property
    def text(self) -> str:
        """Return the advice as in an error message."""
        return ", ".join(filter(None, (self.flags, self.note)))

    def fits(self, flag_names: Collection[str]) -> bool:
        """Return whether a command has all flags that the advice names."""
        return set(mentioned_flags(self.text)) <= set(flag_names)


@functools.cache
def advice_by_flag() -> Mapping[str, Sequence[Advice]]:
    """Return the rows in flags.tsv per foreign flag, best first.

    A command uses the first row that names only flags it has.
    """
    rows: dict[str, list[Advice]] = {}
    with open(_FILE, encoding="utf-8") as file:
        for line in file:
            names, *cells = line.rstrip("\n").split("\t")
            for name in [] if line.startswith("#") else names.split():
                rows.setdefault(name, []).append(Advice(*cells))
    return rows


def fitting_advice(name: str, flag_names: Collection[str]) -> Advice | None:
    """Return advice about a foreign flag for a command with these flags, or None."""
    rows = advice_by_flag().get(name, ())
    return next((advice for advice in rows if advice.fits(flag_names)), None)


def unknown_flags_message(
    names: Sequence[str],
    flag_names: Collection[str],
    ending: str = "; --helpfull lists all flags",
    argument_names: Collection[str] = (),
    off_names: Collection[str] = (),
) -> str:
    """Return the error message for unknown flags, with the flags to use instead.

    Args:
        names: unknown flag names, as the user wrote them.
        ending: text to append if any name has no advice.
        argument_names: the command's arguments that are not flags.
        off_names: the unknown names that were given the value false.
    """
    shown_names = names[:_MAX_NAMES]
    hints = {
        name: _argument_hint(name, argument_names) or _hint(name, flag_names, name in off_names) for name in shown_names
    }
    end = "" if all(hints.values()) else ending
    if len(names) == 1:
        hint = hints[names[0]]
        separator = "; " if hint.endswith("?") else ": "
        return f"unknown flag --{names[0]}{separator + hint if hint else ''}{end}"
    descriptions = [f"--{name}" + (f" ({hint})" if hint else "") for name, hint in hints.items()]
    rest = len(names) - len(shown_names)
    return f"unknown flags {', '.join(descriptions)}{f' and {rest} more' if rest else ''}{end}"


def _argument_hint(name: str, argument_names: Collection[str]) -> str:
    """Return advice if an unknown flag names an argument that has no flag, else ""."""
    argument = _similar(name, argument_names)
    return f"write the {argument} without a flag" if argument else ""


def _hint(name: str, flag_names: Collection[str], is_off: bool) -> str:
    """Return advice for an unknown flag: a replacement, a guess as a question, or ""."""
    bare = name.replace("-", "_").lower()
    if bare in advice_by_flag() and bare not in flag_names:
        fitting = fitting_advice(bare, flag_names)
        if is_off and fitting and "=" in fitting.flags:
            return _SWITCHED_OFF
        advice = fitting.text if fitting else "this command has no flag for it; leave it out"
        verb = "the flags are" if re.match(r"--\w+(, --\w+)* (and|or) ", advice) else "the flag is"
        return f"{verb} {advice}" if fitting and fitting.flags else advice
    guess = _similar(bare, flag_names) or _similar(bare.removeprefix("no"), flag_names)
    return f"did you mean --{guess}?" if guess else ""


def _similar(name: str, flag_names: Collection[str]) -> str | None:
    """Return the flag that a misspelled name certainly means, or None."""
    import difflib  # late, as only wrong names need it

    closest = difflib.get_close_matches(name, flag_names, n=1, cutoff=_LEAST_SIMILARITY)
    # In a short name, two swapped letters lower difflib's ratio too much.
    swapped = [flag for flag in flag_names if sorted(flag) == sorted(name)]
    longer = [flag for flag in flag_names if flag.startswith(name) and len(name) >= _LEAST_PREFIX]
    if closest or swapped:
        return (closest or swapped)[0]
    return longer[0] if len(longer) == 1 else None
