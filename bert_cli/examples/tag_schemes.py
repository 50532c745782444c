"""Tag schemes: detection, and conversion to BIO and back.

    scheme   EU    rejects  German  Anna     Lund     Anna     (German: MISC; "Anna Lund" and "Anna": two persons)
    BIO      B-ORG  O       B-MISC  B-PER    I-PER    B-PER    also called IOB2
    IOB1     I-ORG  O       I-MISC  I-PER    I-PER    B-PER    B- only directly after an entity with the same type
    BIOES    S-ORG  O       S-MISC  B-PER    E-PER    S-PER    also called IOBES
    BMES     S-ORG  O       S-MISC  B-PER    E-PER    S-PER    M- for the words between B- and E-
    BMEWO    W-ORG  O       W-MISC  B-PER    E-PER    W-PER    M- as in BMES
    BILOU    U-ORG  O       U-MISC  B-PER    L-PER    U-PER    also called BIOUL
    IO       ORG    O       MISC    PER      PER      PER      no prefixes; neighbors with the same type are one entity

If a file's tags have prefixes but no types ("B", "I", "O"), the type is "".
"""

import itertools
import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, TypedDict

from bert_cli.base.names import OUTSIDE
from bert_cli.settings.answering import TAG_SCHEMES

# Prefixes per scheme. Four letters mark the first, inner, last and only word of an entity.
PREFIXES = dict(zip(TAG_SCHEMES, ("BI", "BI", "BIES", "BMES", "BMEW", "BILU", ""), strict=True))
LETTERS = frozenset("".join(PREFIXES.values()))
_FOUR_LETTERS = {scheme: letters for scheme, letters in PREFIXES.items() if len(letters) == 4}
_PREFIXED = re.compile(r"[A-Z]-.")


class EntityRecord(TypedDict):
    """A predicted entity for JSON.

    Attributes:
        type: label.
        text: covered text.
        start, end: character offsets; `end` is exclusive.
        score: mean tag probability over the words.
    """

    type: str
    text: str
    start: int
    end: int
    score: float


class Entity(NamedTuple):
    """An entity: words `start` to `end` - 1, 0-based, and their type."""

    type: str
    start: int
    end: int


def split_tag(tag: str) -> tuple[str, str]:
    """Split a tag into prefix and type.

    For example ("B", "creative-work") for B-creative-work, ("O", "") for O, ("I", "") for I.
    """
    prefix, _, entity_type = tag.partition("-")
    return prefix, entity_type


def join_tag(prefix: str, entity_type: str) -> str:
    """Join prefix and type; the inverse of split_tag."""
    return f"{prefix}-{entity_type}" if entity_type else prefix


def describe_tag_problem(tag: str, scheme: str) -> str:
    """Return a message if a tag is not valid in its scheme, "" otherwise."""
    if tag == OUTSIDE or (scheme == "IO" and tag):
        return ""
    prefix, entity_type = split_tag(tag)
    if len(prefix) != 1 or prefix not in PREFIXES[scheme]:
        prefixes = ", ".join(f"{letter}-" for letter in PREFIXES[scheme])
        return f"tag {tag!r} has none of the prefixes of {scheme} ({prefixes}) and is not {OUTSIDE}"
    return f"tag {tag!r} names no type" if tag.endswith("-") and not entity_type else ""


def has_prefixes(tags: Collection[str]) -> bool:
    """Return whether tags, without O, have prefixes.

    They have prefixes if one tag begins with a capital letter and a hyphen, or if all tags are
    prefix letters of one scheme.
    """
    if any(map(_PREFIXED.match, tags)) or set(tags) <= set("BIES"):
        return True
    return "B" in tags and any(set(tags) <= set(letters) for letters in _FOUR_LETTERS.values())


def _four_letter_scheme(prefixes: set[str]) -> str | None:
    """Return the four-letter scheme that has these prefixes, or None for BIO and IOB1."""
    used_letters = prefixes & LETTERS
    if used_letters <= set("BI"):
        return None
    for scheme, letters in _FOUR_LETTERS.items():
        # M-1 and M-2 may be types. Without a tag for a first word, treat them as invalid BIO tags.
        required = {"B", letters[3]} if scheme != "BIOES" else {"E", "S"}
        if used_letters <= set(letters) and used_letters & required:
            return scheme
    return "BIOES" if used_letters & {"E", "S"} else None


def detect_scheme(sequences: Iterable[Sequence[str]]) -> str:
    """Return the tag scheme of sentences, a key of PREFIXES.

    Args:
        sequences: tags per sentence.

    Returns:
        IO if no tag has a prefix (see has_prefixes). A four-letter scheme if tags have its prefixes
        for last or only words. IOB1 if entities begin with I- more often than with B-, and BIO
        otherwise.
    """
    sequences = list(sequences)
    entity_tags = set(itertools.chain.from_iterable(sequences)) - {OUTSIDE}
    if not has_prefixes(entity_tags):
        return "IO"
    if scheme := _four_letter_scheme({split_tag(tag)[0] for tag in entity_tags}):
        return scheme
    # Count only tags that begin an entity, and not directly after one with the same type: at other
    # words BIO and IOB1 are equal.
    begins = {"B": 0, "I": 0}
    for tags in sequences:
        previous = None
        for tag in tags:
            prefix, entity_type = split_tag(tag)
            if prefix in begins and entity_type != previous:
                begins[prefix] += 1
            previous = None if tag == OUTSIDE else entity_type
    return "IOB1" if begins["I"] > begins["B"] else "BIO"


def find_entities(tags: Sequence[str], scheme: str = "BIO") -> list[Entity]:
    """Return a sentence's entities in order, by the rules of CoNLL's script conlleval.

    An entity begins at every B- and S-, after every E- and S-, and at an I- or E- after O or after
    a different type. It ends before the next entity, before O, and at the sentence's end. So all
    tag sequences are valid, and BIO and IOB1 need no separate rules.

    Args:
        tags: the sentence's tags.
        scheme: "IO" if tags have no prefixes, "BIO" otherwise.
    """
    entities: list[Entity] = []
    begin = 0
    open_type = ""
    previous = "O"
    for position, tag in enumerate(tags):
        prefix, entity_type = ("I", tag) if scheme == "IO" and tag != OUTSIDE else split_tag(tag)
        # Accept an I- without a B-, as conlleval does: models predict such sequences.
        is_first = prefix in "BS" or previous in "OES" or entity_type != open_type
        if previous != "O" and (prefix == "O" or is_first):
            entities.append(Entity(open_type, begin, position))
        if prefix != "O" and is_first:
            begin = position
            open_type = entity_type
        previous = prefix
    if previous != "O":
        entities.append(Entity(open_type, begin, len(tags)))
    return entities


def make_tags(length: int, entities: Iterable[Entity], scheme: str = "BIO") -> tuple[str, ...]:
    """Return tags for a sentence with these entities.

    Args:
        length: number of words.
        entities: entities in order, without overlaps.
        scheme: a key of PREFIXES.
    """
    tags = [OUTSIDE] * length
    previous = Entity("", -1, -1)
    for entity in entities:
        entity_type = entity.type
        size = entity.end - entity.start
        prefixes = ["B"] + ["I"] * (size - 1)
        if scheme == "IOB1" and not (previous.end == entity.start and previous.type == entity_type):
            prefixes[0] = "I"
        elif scheme in _FOUR_LETTERS:
            first, inner, last, only = list(_FOUR_LETTERS[scheme])
            prefixes = [only] if size == 1 else [first, *[inner] * (size - 2), last]
        if scheme == "IO":
            tags[entity.start : entity.end] = [entity_type] * size
        else:
            tags[entity.start : entity.end] = [join_tag(prefix, entity_type) for prefix in prefixes]
        previous = entity
    return tuple(tags)


def to_bio(tags: Sequence[str], scheme: str) -> tuple[str, ...]:
    """Convert tags to BIO, so that every entity begins with B- (see `find_entities`)."""
    if scheme in _FOUR_LETTERS:
        letters = dict(zip(_FOUR_LETTERS[scheme], "BIES", strict=True))
        split_tags = map(split_tag, tags)
        tags = [join_tag(letters.get(prefix, prefix), entity_type) for prefix, entity_type in split_tags]
    return make_tags(len(tags), find_entities(tags, "IO" if scheme == "IO" else "BIO"), "BIO")


def from_bio(tags: Sequence[str], scheme: str) -> tuple[str, ...]:
    """Convert BIO tags to another scheme; for BIO, return them unchanged."""
    return tuple(tags) if scheme == "BIO" else make_tags(len(tags), find_entities(tags), scheme)


def make_label_list(sequences: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the labels for sentences with BIO tags: O, then B-x and I-x for each type x.

    Types are sorted by code point. Both labels are included even if one of them does not occur, so
    the order depends only on the types.
    """
    types = sorted(find_entity_types(itertools.chain.from_iterable(sequences)))
    return (OUTSIDE, *(join_tag(prefix, entity_type) for entity_type in types for prefix in "BI"))


def find_entity_types(tags: Iterable[str]) -> set[str]:
    """Return the entity types that occur in BIO tags or labels."""
    return {split_tag(tag)[1] for tag in set(tags) - {OUTSIDE}}
