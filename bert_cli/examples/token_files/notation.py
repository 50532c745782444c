"""Notation of the tags of a file: scheme, outside tag and form of prefixes."""

import functools
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from bert_cli.base.names import OUTSIDE
from bert_cli.examples.tag_schemes import LETTERS, PREFIXES, detect_scheme, from_bio, has_prefixes, join_tag, to_bio
from bert_cli.settings.tagging import TAG_FORM, Tagging

USUAL_FORM = "B-PER"
_SEPARATORS = "-_:/.|+#"
# The forms that are detected if tags have not the usual form, see tag_schemes.has_prefixes.
_FORMS = tuple(
    form
    for letter in "Bb"
    for form in (
        *(f"{letter}{separator}PER" for separator in _SEPARATORS),
        *(f"PER{separator}{letter}" for separator in _SEPARATORS),
        f"{letter}PER",
    )
)[1:]
# Names of the outside tag in small letters; those in _OTHER_NAMES may be types, too.
_OUTSIDE_NAMES = frozenset(("o", "0", "none", "null", "nil", "nan", "n/a", "outside", "no_entity", "_", "-", "--"))
_OTHER_NAMES = frozenset(("other", "others", "oth", "out", "no", "na", "*", "background"))
# Share of the words that a tag with such a name covers at least, if types have no prefixes.
_OUTSIDE_SHARE = 0.1
# In fewer words, a tag with any name may cover more than half by chance.
_FEWEST_WORDS = 20
# Share of the words of entities whose tags fit a form; the others are then mistakes.
_FITTING = 0.9
_BRACKETS = re.compile(r"\(.*\*|\*\)+")


class NotationFlags(NamedTuple):
    """The notation as far as flags, or an earlier file of the run, set it; None: detected."""

    scheme: str | None = None
    outside: str | None = None
    form: str | None = None


DETECTED = NotationFlags()


def notation_flags(flags: Tagging) -> NotationFlags:
    """Return the values of --tag_scheme, --outside_tag and --tag_form."""
    values = (flags.tag_scheme, flags.outside_tag, flags.tag_form)
    return NotationFlags(*(None if value == "auto" else value for value in values))


class TagNotation(NamedTuple):
    """How the tags of a file are written.

    Attributes:
        scheme: a key of tag_schemes.PREFIXES.
        outside: tag of the words outside all entities.
        form: the tag of the first word of a PER, such as B-PER, B_PER or PER-B.
    """

    scheme: str = "BIO"
    outside: str = OUTSIDE
    form: str = USUAL_FORM

    @classmethod
    def of_flags(cls, flags: NotationFlags) -> "TagNotation":
        """Return the values of flags, with the usual ones for those that are not set."""
        return cls(*(value or default for value, default in zip(flags, cls(), strict=True)))

    @property
    def facts(self) -> dict[str, str]:
        """The flags of this notation by name, without the usual form and outside tag."""
        unusual = {"outside_tag": self.outside} if self.outside != OUTSIDE else {}
        return {"tag_scheme": self.scheme} | unusual | ({"tag_form": self.form} if self.form != USUAL_FORM else {})

    def __str__(self) -> str:
        """Return the notation for the log: the scheme, and what is unusual about it."""
        form = f" with tags such as {self.form}" if self.form != USUAL_FORM else ""
        outside = f", {self.outside} outside entities" if self.outside != OUTSIDE else ""
        return f"{self.scheme}{form}{outside}"

    def decode(self, tags: Sequence[str]) -> tuple[str, ...]:
        """Return the tags of a sentence in BIO."""
        return to_bio(self.canonical(tags), self.scheme)

    def encode(self, tags: Sequence[str]) -> tuple[str, ...]:
        """Return tags in BIO as the file writes them."""
        written = from_bio(tags, self.scheme)
        if self.form == USUAL_FORM and self.outside == OUTSIDE:
            return written
        return tuple(self.outside if tag == OUTSIDE else self._with_form(tag) for tag in written)

    def _with_form(self, tag: str) -> str:
        if self.scheme == "IO" or self.form == USUAL_FORM:
            return tag
        letter, _, entity_type = tag.partition("-")
        return join_form(self.form, letter, entity_type)

    def canonical(self, tags: Sequence[str]) -> list[str]:
        """Return the tags of a sentence with the usual form and outside tag, in the same scheme."""
        return [self._canonical(tag) for tag in tags]

    def _canonical(self, tag: str) -> str:
        if tag == self.outside:
            return OUTSIDE
        parts = None if self.scheme == "IO" or self.form == USUAL_FORM else split_form(self.form, tag)
        return join_tag(*parts) if parts else tag

    def problem(self, tag: str) -> str:
        """Return what is wrong with a tag, for a message; "" for a tag of this notation."""
        if tag == self.outside:
            return ""
        if tag == OUTSIDE:
            return f"tag {OUTSIDE!r}, though {self.outside!r} is the tag outside entities (--outside_tag)"
        if self.scheme == "IO":
            bracket = f"tag {tag!r} is in brackets, as in CoNLL-2012, and BIO (B-x, I-x, O) is needed"
            return bracket if _BRACKETS.fullmatch(tag) else ""
        letter, entity_type = split_form(self.form, tag) or ("", "")
        prefixes = PREFIXES[self.scheme]
        if not letter or letter not in prefixes:
            written = ", ".join(join_form(self.form, letter, "PER").replace("PER", "") for letter in prefixes)
            return f"tag {tag!r} has none of the prefixes of {self.scheme} ({written}) and is not {self.outside}"
        is_bare = not entity_type and len(tag) > 1
        return f"tag {tag!r} names no type" if is_bare else ""


class _FormParts(NamedTuple):
    """A form in parts: separator, whether the letter follows the type, whether it is small."""

    separator: str
    is_behind: bool
    is_small: bool


@functools.cache
def _parts(form: str) -> _FormParts:
    match = TAG_FORM.fullmatch(form)
    assert match, "flags and detection give forms of TAG_FORM only"
    is_behind = match["last"] is not None
    return _FormParts(match["before" if is_behind else "after"], is_behind, "b" in form)


def split_form(form: str, tag: str) -> tuple[str, str] | None:
    """Return the letter, as a capital, and the type of a tag; None for a tag of another form.

    The type of B alone is "".
    """
    parts = _parts(form)
    if not parts.separator:
        letter, entity_type = tag[:1], tag[1:]
    elif parts.is_behind:
        entity_type, _, letter = tag.rpartition(parts.separator)
    else:
        letter, _, entity_type = tag.partition(parts.separator)
    is_letter = letter.upper() in LETTERS and letter.islower() == parts.is_small
    return (letter.upper(), entity_type) if is_letter else None


def join_form(form: str, letter: str, entity_type: str) -> str:
    """Return the tag of a form; the inverse of split_form."""
    parts = _parts(form)
    letter = letter.lower() if parts.is_small else letter
    if not entity_type:
        return letter
    if parts.is_behind:
        return f"{entity_type}{parts.separator}{letter}"
    return f"{letter}{parts.separator}{entity_type}"


def detect_notation(
    sequences: Iterable[Sequence[str]], flags: NotationFlags = DETECTED, types: Collection[str] = ()
) -> TagNotation:
    """Return the notation of the tags of sentences; what flags set is taken from them.

    The outside tag is O if a word has it. Otherwise it is the tag of most words, if it covers
    more than half of them next to other tags, or has a usual name such as 0 or OTHER.

    Args:
        sequences: tags of each sentence.
        flags: values that are set already.
        types: entity types that a trained model knows; they are no outside tags.
    """
    sequences = list(sequences)
    counts = Counter(itertools.chain.from_iterable(sequences))
    outside = flags.outside or _outside_tag(counts, types)
    inside = {tag: count for tag, count in counts.items() if tag != outside}
    form = flags.form or (USUAL_FORM if flags.scheme == "IO" else _find_form(inside))
    scheme = flags.scheme
    if scheme is None:
        # With any scheme of prefixes, tags get the usual form.
        scheme = detect_scheme([TagNotation("BIO", outside, form).canonical(tags) for tags in sequences])
    return TagNotation(scheme, outside, form)


def _outside_tag(counts: Counter[str], types: Collection[str]) -> str:
    """Return the tag of words outside entities; O if no tag is without doubt."""
    if OUTSIDE in counts or not counts:
        return OUTSIDE
    ranked = [tag for tag, _ in counts.most_common() if tag not in types]
    named = [tag for tag in ranked if tag.casefold() in _OUTSIDE_NAMES | _OTHER_NAMES]
    for tag in named:
        others = {name: count for name, count in counts.items() if name != tag}
        is_clear = tag.casefold() in _OUTSIDE_NAMES and counts[tag] >= _OUTSIDE_SHARE * counts.total()
        if is_clear or counts[tag] == max(counts.values()) or _are_prefixed(others):
            return tag
    tag = ranked[0] if ranked else OUTSIDE
    others = {name: count for name, count in counts.items() if name != tag}
    is_prefixed = _are_prefixed(others) and split_form(_find_form(others), tag)
    covers_most = 2 * counts[tag] > counts.total() >= _FEWEST_WORDS
    return tag if others and not is_prefixed and covers_most else OUTSIDE


def _are_prefixed(counts: Mapping[str, int]) -> bool:
    return bool(counts) and (has_prefixes(counts.keys()) or _find_form(counts) != USUAL_FORM)


def _find_form(counts: Mapping[str, int]) -> str:
    """Return the form of the tags of entities, with their counts; the usual one in doubt."""
    if has_prefixes(counts.keys()):
        return USUAL_FORM
    return next((form for form in _FORMS if _fits(form, counts)), USUAL_FORM)


def _fits(form: str, counts: Mapping[str, int]) -> bool:
    split = {tag: parts for tag in counts if (parts := split_form(form, tag))}
    letters_of: dict[str, set[str]] = {}
    for letter, entity_type in split.values():
        letters_of.setdefault(entity_type, set()).add(letter)
    letters = set().union(*letters_of.values())
    if "" in letters_of and len(letters_of) > 1:
        return False
    # B_PER and I_PER are the first and a further word of one type; B_cell may be a type.
    has_pair = any("B" in of_type and len(of_type) > 1 for of_type in letters_of.values())
    if len(split) < len(counts):
        return has_pair and sum(counts[tag] for tag in split) >= _FITTING * sum(counts.values())
    if not _parts(form).separator:
        return has_pair and all("B" in of_type for of_type in letters_of.values())
    is_iob1 = letters == {"I"} and len(letters_of) > 1 and not _parts(form).is_behind
    return "B" in letters or is_iob1
