"""Tag notations: scheme, outside tag and prefix form, with detection and conversion."""

import functools
import itertools
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from bert_cli.base.names import OUTSIDE
from bert_cli.examples.tag_schemes import (
    LETTERS,
    PREFIXES,
    detect_scheme,
    from_bio,
    has_prefixes,
    join_tag,
    split_tag,
    to_bio,
)
from bert_cli.settings.answering import TAG_FORM, Tagging

USUAL_FORM = "B-PER"
_SEPARATORS = "-_:/.|+#"
# Forms to detect if tags do not have the usual form (see tag_schemes.has_prefixes).
_FORMS = tuple(
    form
    for letter in "Bb"
    for form in (
        *(f"{letter}{separator}PER" for separator in _SEPARATORS),
        *(f"PER{separator}{letter}" for separator in _SEPARATORS),
        f"{letter}PER",
    )
)[1:]
# Names of the outside tag in lower case. Names in _OTHER_NAMES may also be entity types.
_OUTSIDE_NAMES = frozenset(("o", "0", "none", "null", "nil", "nan", "n/a", "outside", "no_entity", "_", "-", "--"))
_OTHER_NAMES = frozenset(("other", "others", "oth", "out", "no", "na", "*", "background"))
# Minimum share of words with an outside tag that has such a name, if types have no prefixes.
_MIN_OUTSIDE_SHARE = 0.1
# With fewer words, any tag may cover more than half by chance.
_MIN_WORDS = 20
# Minimum share of entity words with tags in a form; other tags are typing errors.
_MIN_FITTING_SHARE = 0.9
_BRACKETS = re.compile(r"\(.*\*|\*\)+")


class NotationFlags(NamedTuple):
    """A notation from flags or from an earlier file; None for a value that is detected."""

    scheme: str | None = None
    outside: str | None = None
    form: str | None = None


DETECTED = NotationFlags()


def make_notation_flags(flags: Tagging) -> NotationFlags:
    """Return --tag_scheme, --outside_tag and --tag_form, with None for auto."""
    values = (flags.tag_scheme, flags.outside_tag, flags.tag_form)
    return NotationFlags(*(None if value == "auto" else value for value in values))


class TagNotation(NamedTuple):
    """A file's notation of tags.

    Attributes:
        scheme: a key of tag_schemes.PREFIXES.
        outside: tag for words outside of entities.
        form: example with prefix B and type PER, such as B-PER, B_PER or PER-B.
    """

    scheme: str = "BIO"
    outside: str = OUTSIDE
    form: str = USUAL_FORM

    @classmethod
    def of_flags(cls, flags: NotationFlags) -> "TagNotation":
        """Return the flag values, using defaults for missing values."""
        return cls(*(value or default for value, default in zip(flags, cls(), strict=True)))

    @property
    def facts(self) -> dict[str, str]:
        """Return flag values by flag name, except a usual form or outside tag."""
        unusual = {"outside_tag": self.outside} if self.outside != OUTSIDE else {}
        return {"tag_scheme": self.scheme} | unusual | ({"tag_form": self.form} if self.form != USUAL_FORM else {})

    def __str__(self) -> str:
        """Return the notation for the log: the scheme, and an unusual form or outside tag."""
        form = f" with tags such as {self.form}" if self.form != USUAL_FORM else ""
        outside = f", {self.outside} outside entities" if self.outside != OUTSIDE else ""
        return f"{self.scheme}{form}{outside}"

    def decode(self, tags: Sequence[str]) -> tuple[str, ...]:
        """Convert a sentence's tags to BIO."""
        return to_bio(self.normalize(tags), self.scheme)

    def encode(self, tags: Sequence[str]) -> tuple[str, ...]:
        """Convert BIO tags to this notation."""
        converted = from_bio(tags, self.scheme)
        if self.form == USUAL_FORM and self.outside == OUTSIDE:
            return converted
        return tuple(self.outside if tag == OUTSIDE else self._apply_form(tag) for tag in converted)

    def _apply_form(self, tag: str) -> str:
        if self.scheme == "IO" or self.form == USUAL_FORM:
            return tag
        letter, _, entity_type = tag.partition("-")
        return format_tag(self.form, letter, entity_type)

    def normalize(self, tags: Sequence[str]) -> list[str]:
        """Return a sentence's tags with the usual form and outside tag, in the same scheme."""
        return [self._normalize(tag) for tag in tags]

    def _normalize(self, tag: str) -> str:
        if tag == self.outside:
            return OUTSIDE
        parsed = None if self.scheme == "IO" or self.form == USUAL_FORM else parse_tag(self.form, tag)
        return join_tag(*parsed) if parsed else tag

    def describe_problem(self, tag: str) -> str:
        """Return a message if a tag is not valid in this notation, "" otherwise."""
        if tag == self.outside:
            return ""
        if tag == OUTSIDE:
            return f"tag {OUTSIDE!r}, though {self.outside!r} is the tag outside entities (--outside_tag)"
        if self.scheme == "IO":
            bracket = f"tag {tag!r} is in brackets, as in CoNLL-2012, and BIO (B-x, I-x, O) is needed"
            return bracket if _BRACKETS.fullmatch(tag) else ""
        letter, entity_type = parse_tag(self.form, tag) or ("", "")
        prefixes = PREFIXES[self.scheme]
        if not letter or letter not in prefixes:
            prefix_list = ", ".join(format_tag(self.form, letter, "PER").replace("PER", "") for letter in prefixes)
            return f"tag {tag!r} has none of the prefixes of {self.scheme} ({prefix_list}) and is not {self.outside}"
        has_empty_type = not entity_type and len(tag) > 1
        return f"tag {tag!r} names no type" if has_empty_type else ""


def label_aliases(labels: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return names that other programs give to BIO labels in their models, in any case, best first.

    These are other forms (B_PER, PER-B), M- for the inner words of an entity, the type alone (IO),
    and I- for first words (IOB1).

    Args:
        labels: labels in BIO.
    """
    aliases = {}
    # Without a separator, BPER may be a type.
    forms = [USUAL_FORM, *(form for form in _FORMS if _parse_form(form).separator and "B" in form)]
    for label in labels:
        letter, entity_type = split_tag(label)
        if not entity_type:
            continue
        letters = {"B": ("B",), "I": ("I", "M")}[letter]
        names = [format_tag(form, letter, entity_type) for letter in letters for form in forms]
        names.append(entity_type)
        names += [format_tag(form, "I", entity_type) for form in forms] if letter == "B" else []
        aliases[label] = tuple(names)
    return aliases


class _Form(NamedTuple):
    """A parsed form.

    Attributes:
        separator: text between letter and type, may be "".
        is_suffix: whether the letter follows the type.
        is_lower_case: whether the letter is lower case.
    """

    separator: str
    is_suffix: bool
    is_lower_case: bool


@functools.cache
def _parse_form(form: str) -> _Form:
    match = TAG_FORM.fullmatch(form)
    assert match, "flags and detection give forms of TAG_FORM only"
    is_suffix = match["last"] is not None
    return _Form(match["before" if is_suffix else "after"], is_suffix, "b" in form)


def parse_tag(form: str, tag: str) -> tuple[str, str] | None:
    """Return a tag's letter in upper case and its type, or None if the tag has a different form.

    The type is "" if the tag is only a letter.
    """
    parsed_form = _parse_form(form)
    if not parsed_form.separator:
        letter, entity_type = tag[:1], tag[1:]
    elif parsed_form.is_suffix:
        entity_type, _, letter = tag.rpartition(parsed_form.separator)
    else:
        letter, _, entity_type = tag.partition(parsed_form.separator)
    is_letter = letter.upper() in LETTERS and letter.islower() == parsed_form.is_lower_case
    return (letter.upper(), entity_type) if is_letter else None


def format_tag(form: str, letter: str, entity_type: str) -> str:
    """Return a tag in a form; the inverse of parse_tag.

    Args:
        form: form such as B-PER or PER_b.
        letter: prefix letter in upper case.
        entity_type: type, may be "".
    """
    parsed_form = _parse_form(form)
    letter = letter.lower() if parsed_form.is_lower_case else letter
    if not entity_type:
        return letter
    if parsed_form.is_suffix:
        return f"{entity_type}{parsed_form.separator}{letter}"
    return f"{letter}{parsed_form.separator}{entity_type}"


def detect_notation(
    sequences: Iterable[Sequence[str]], flags: NotationFlags = DETECTED, types: Collection[str] = ()
) -> TagNotation:
    """Detect the notation of tags, except values that `flags` contains.

    The outside tag is O if O occurs. Otherwise, it is a frequent tag with a usual name such as 0 or
    OTHER, or a tag that covers more than half of the words.

    Args:
        sequences: tags of each sentence.
        flags: values that are not detected.
        types: a trained model's entity types, which are never outside tags.
    """
    sequences = list(sequences)
    counts = Counter(itertools.chain.from_iterable(sequences))
    outside = flags.outside or _find_outside_tag(counts, types)
    entity_counts = {tag: count for tag, count in counts.items() if tag != outside}
    form = flags.form or (USUAL_FORM if flags.scheme == "IO" else _find_form(entity_counts))
    scheme = flags.scheme
    if scheme is None:
        # Normalize with BIO: the result is the same for all schemes with prefixes.
        scheme = detect_scheme([TagNotation("BIO", outside, form).normalize(tags) for tags in sequences])
    return TagNotation(scheme, outside, form)


def _find_outside_tag(counts: Counter[str], types: Collection[str]) -> str:
    """Return the tag for words outside of entities, or O if it is unclear."""
    if OUTSIDE in counts or not counts:
        return OUTSIDE
    ranked = [tag for tag, _ in counts.most_common() if tag not in types]
    candidates = [tag for tag in ranked if tag.casefold() in _OUTSIDE_NAMES | _OTHER_NAMES]
    for tag in candidates:
        other_counts = {name: count for name, count in counts.items() if name != tag}
        is_clear = tag.casefold() in _OUTSIDE_NAMES and counts[tag] >= _MIN_OUTSIDE_SHARE * counts.total()
        if is_clear or counts[tag] == max(counts.values()) or _are_prefixed(other_counts):
            return tag
    tag = ranked[0] if ranked else OUTSIDE
    other_counts = {name: count for name, count in counts.items() if name != tag}
    is_prefixed = _are_prefixed(other_counts) and parse_tag(_find_form(other_counts), tag)
    covers_most = 2 * counts[tag] > counts.total() >= _MIN_WORDS
    return tag if other_counts and not is_prefixed and covers_most else OUTSIDE


def _are_prefixed(counts: Mapping[str, int]) -> bool:
    return bool(counts) and (has_prefixes(counts.keys()) or _find_form(counts) != USUAL_FORM)


def _find_form(counts: Mapping[str, int]) -> str:
    """Return the form of entity tags, or the usual form if it is unclear.

    Args:
        counts: words per tag, without the outside tag.
    """
    if has_prefixes(counts.keys()):
        return USUAL_FORM
    return next((form for form in _FORMS if _fits(form, counts)), USUAL_FORM)


def _fits(form: str, counts: Mapping[str, int]) -> bool:
    parsed_tags = {tag: parsed for tag in counts if (parsed := parse_tag(form, tag))}
    type_letters: dict[str, set[str]] = {}
    for letter, entity_type in parsed_tags.values():
        type_letters.setdefault(entity_type, set()).add(letter)
    all_letters = set().union(*type_letters.values())
    if "" in type_letters and len(type_letters) > 1:
        return False
    # B_PER together with I_PER shows that B_ is a prefix. Without I_cell, B_cell may be a type.
    has_pair = any("B" in letters and len(letters) > 1 for letters in type_letters.values())
    if len(parsed_tags) < len(counts):
        return has_pair and sum(counts[tag] for tag in parsed_tags) >= _MIN_FITTING_SHARE * sum(counts.values())
    if not _parse_form(form).separator:
        return has_pair and all("B" in letters for letters in type_letters.values())
    is_iob1 = all_letters == {"I"} and len(type_letters) > 1 and not _parse_form(form).is_suffix
    return "B" in all_letters or is_iob1
