"""Tags of words: the ways to write entities as tags, told apart and turned into BIO and back.

    scheme   EU    rejects  German  Anna     Lund     Anna     (German: MISC; "Anna Lund" and "Anna": two persons)
    BIO      B-ORG  O       B-MISC  B-PER    I-PER    B-PER    also called IOB2
    IOB1     I-ORG  O       I-MISC  I-PER    I-PER    B-PER    B- only where an entity touches another of its type
    BIOES    S-ORG  O       S-MISC  B-PER    E-PER    S-PER    also called IOBES
    BMES     S-ORG  O       S-MISC  B-PER    E-PER    S-PER    M- for the words between B- and E-
    BMEWO    W-ORG  O       W-MISC  B-PER    E-PER    W-PER    M- as in BMES
    BILOU    U-ORG  O       U-MISC  B-PER    L-PER    U-PER    also called BIOUL
    IO       ORG    O       MISC    PER      PER      PER      no prefixes; neighbours of one type become one entity

Where all prefixed tags of a file are without types ("B", "I", "O"), the type is "".
"""

import itertools
import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from bert_cli.base.names import OUTSIDE
from bert_cli.settings.tagging import TAG_SCHEMES

# Prefixes of each scheme; the tags of IO have none. Four letters: first, inner, last and only
# word of an entity.
PREFIXES = dict(zip(TAG_SCHEMES, ("BI", "BI", "BIES", "BMES", "BMEW", "BILU", ""), strict=True))
LETTERS = frozenset("".join(PREFIXES.values()))
_FOUR_LETTERS = {scheme: letters for scheme, letters in PREFIXES.items() if len(letters) == 4}
_PREFIXED = re.compile(r"[A-Z]-.")


class Entity(NamedTuple):
    """Words `start` up to, not including, `end` (0-based) are an entity of a type."""

    type: str
    start: int
    end: int


def split_tag(tag: str) -> tuple[str, str]:
    """Prefix and type of a tag: ("B", "creative-work") of B-creative-work, ("O", "") of O, ("I",
    "") of I.
    """
    prefix, _, entity_type = tag.partition("-")
    return prefix, entity_type


def join_tag(prefix: str, entity_type: str) -> str:
    """The inverse of split_tag."""
    return f"{prefix}-{entity_type}" if entity_type else prefix


def tag_problem(tag: str, scheme: str) -> str:
    """What is wrong with a tag, for a message; "" for a tag of the scheme."""
    if tag == OUTSIDE or (scheme == "IO" and tag):
        return ""
    prefix, entity_type = split_tag(tag)
    if len(prefix) != 1 or prefix not in PREFIXES[scheme]:
        known = ", ".join(f"{letter}-" for letter in PREFIXES[scheme])
        return f"tag {tag!r} has none of the prefixes of {scheme} ({known}) and is not {OUTSIDE}"
    return f"tag {tag!r} names no type" if tag.endswith("-") and not entity_type else ""


def has_prefixes(tags: Collection[str]) -> bool:
    """Return whether tags, without O, have prefixes.

    One has a capital letter and a hyphen, or all are letters of one scheme.
    """
    if any(map(_PREFIXED.match, tags)) or set(tags) <= set("BIES"):
        return True
    return "B" in tags and any(set(tags) <= set(letters) for letters in _FOUR_LETTERS.values())


def _four_letter_scheme(prefixes: set[str]) -> str | None:
    """Return the scheme of four letters that has these prefixes; None for BIO and IOB1."""
    known = prefixes & LETTERS
    if known <= set("BI"):
        return None
    for scheme, letters in _FOUR_LETTERS.items():
        # M-1 and M-2 may be types; without a first word, they are refused as tags of BIO.
        begins = {"B", letters[3]} if scheme != "BIOES" else {"E", "S"}
        if known <= set(letters) and known & begins:
            return scheme
    return "BIOES" if known & {"E", "S"} else None


def detect_scheme(sequences: Iterable[Sequence[str]]) -> str:
    """Return the scheme of the tags of sentences: a key of PREFIXES.

    IO if no tag has a prefix (see has_prefixes), and a scheme of four letters if a tag has a
    prefix of the last or the only word. BIO and IOB1 differ in what begins an entity that touches
    no other of its type: the one of which there is more in the sentences, BIO if there is as much
    of either, or nothing.
    """
    sequences = list(sequences)
    inside = set(itertools.chain.from_iterable(sequences)) - {OUTSIDE}
    if not has_prefixes(inside):
        return "IO"
    if scheme := _four_letter_scheme({split_tag(tag)[0] for tag in inside}):
        return scheme
    # They differ only in what begins an entity; a B- or I- inside one is the same in both.
    begins = {"B": 0, "I": 0}
    for tags in sequences:
        previous = None
        for tag in tags:
            prefix, entity_type = split_tag(tag)
            if prefix in begins and entity_type != previous:
                begins[prefix] += 1
            previous = None if tag == OUTSIDE else entity_type
    return "IOB1" if begins["I"] > begins["B"] else "BIO"


def entities(tags: Sequence[str], scheme: str = "BIO") -> list[Entity]:
    """The entities of a sentence, in order, by the rules of the CoNLL evaluation script
    (conlleval).

    An entity begins at every B- (and S-), at an I- (or E-) after O or after another type, and after
    an E- or S-. It ends where the next begins, before O, and at the end of the sentence. So one
    function reads BIO and IOB1, and no sequence is refused.
    """
    found: list[Entity] = []
    begin = 0
    open_type = ""
    before = "O"
    for position, tag in enumerate(tags):
        prefix, entity_type = ("I", tag) if scheme == "IO" and tag != OUTSIDE else split_tag(tag)
        # conlleval repairs an I- without a B-, as models predict such sequences.
        is_first = prefix in "BS" or before in "OES" or entity_type != open_type
        if before != "O" and (prefix == "O" or is_first):
            found.append(Entity(open_type, begin, position))
        if prefix != "O" and is_first:
            begin = position
            open_type = entity_type
        before = prefix
    if before != "O":
        found.append(Entity(open_type, begin, len(tags)))
    return found


def tags_of(length: int, found: Iterable[Entity], scheme: str = "BIO") -> tuple[str, ...]:
    """Tags for entities that do not overlap, in order, among `length` words."""
    tags = [OUTSIDE] * length
    before = Entity("", -1, -1)
    for entity in found:
        entity_type = entity.type
        size = entity.end - entity.start
        prefixes = ["B"] + ["I"] * (size - 1)
        if scheme == "IOB1" and not (before.end == entity.start and before.type == entity_type):
            prefixes[0] = "I"
        elif scheme in _FOUR_LETTERS:
            first, inner, last, only = list(_FOUR_LETTERS[scheme])
            prefixes = [only] if size == 1 else [first, *[inner] * (size - 2), last]
        if scheme == "IO":
            tags[entity.start : entity.end] = [entity_type] * size
        else:
            tags[entity.start : entity.end] = [join_tag(prefix, entity_type) for prefix in prefixes]
        before = entity
    return tuple(tags)


def to_bio(tags: Sequence[str], scheme: str) -> tuple[str, ...]:
    """Return the same entities in BIO, in which each begins with B-; see `entities`."""
    if scheme in _FOUR_LETTERS:
        letters = dict(zip(_FOUR_LETTERS[scheme], "BIES", strict=True))
        parts = map(split_tag, tags)
        tags = [join_tag(letters.get(prefix, prefix), entity_type) for prefix, entity_type in parts]
    return tags_of(len(tags), entities(tags, "IO" if scheme == "IO" else "BIO"), "BIO")


def from_bio(tags: Sequence[str], scheme: str) -> tuple[str, ...]:
    """Tags in BIO written in another scheme. For BIO they stay as they are, with an I- that follows
    no B- too.
    """
    return tuple(tags) if scheme == "BIO" else tags_of(len(tags), entities(tags), scheme)


def label_list(sequences: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """The labels for tags in BIO: O, then B-x and I-x for each type x in the order of code points.

    Every type gets both, also where a tag occurs in none of the sentences, so that the order
    depends on the types alone.
    """
    types = sorted(entity_types(itertools.chain.from_iterable(sequences)))
    return (OUTSIDE, *(join_tag(prefix, entity_type) for entity_type in types for prefix in "BI"))


def entity_types(tags: Iterable[str]) -> set[str]:
    """Return the types of tags or labels in BIO."""
    return {split_tag(tag)[1] for tag in set(tags) - {OUTSIDE}}
