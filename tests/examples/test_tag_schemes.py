"""Tag schemes: entities, detection and conversion."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.examples.tag_schemes import (
    Entity,
    describe_tag_problem,
    detect_scheme,
    find_entities,
    from_bio,
    make_label_list,
    split_tag,
    to_bio,
)

quick = settings(max_examples=200, deadline=None, derandomize=True, database=None)

# This is the sentence in the docstring of tag_schemes.
SENTENCE = {
    "BIO": "B-ORG O B-MISC B-PER I-PER B-PER",
    "IOB1": "I-ORG O I-MISC I-PER I-PER B-PER",
    "BIOES": "S-ORG O S-MISC B-PER E-PER S-PER",
    "BMES": "S-ORG O S-MISC B-PER E-PER S-PER",
    "BMEWO": "W-ORG O W-MISC B-PER E-PER W-PER",
    "BILOU": "U-ORG O U-MISC B-PER L-PER U-PER",
    "IO": "ORG O MISC PER PER PER",
}


@pytest.mark.parametrize("scheme", SENTENCE)
def test_from_bio(scheme):
    assert " ".join(from_bio(SENTENCE["BIO"].split(), scheme)) == SENTENCE[scheme]


@pytest.mark.parametrize("scheme", ["BIO", "IOB1", "BIOES", "BMES", "BMEWO", "BILOU"])
def test_to_bio(scheme):
    assert " ".join(to_bio(SENTENCE[scheme].split(), scheme)) == SENTENCE["BIO"]


def test_io_joins_neighbors_with_the_same_type():
    assert to_bio(SENTENCE["IO"].split(), "IO") == ("B-ORG", "O", "B-MISC", "B-PER", "I-PER", "I-PER")


@pytest.mark.parametrize("scheme", SENTENCE)
def test_detection_for_the_docstrings_sentence(scheme):
    long = from_bio(["B-LOC", "I-LOC", "I-LOC", "O"], scheme)
    assert detect_scheme([SENTENCE[scheme].split(), long]) == scheme


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("", "BIO"),
        ("O O", "BIO"),
        ("B-a I-a", "BIO"),
        ("I-a I-a", "IOB1"),
        ("I-a B-a", "IOB1"),
        ("B-a O I-a", "BIO"),  # both schemes are equally frequent
        ("B-a O I-a O I-a", "IOB1"),
        ("B-a I-b O I-b", "IOB1"),
        ("B-a I-a I-a I-a", "BIO"),  # an I- inside an entity has no meaning
        ("S-a", "BIOES"),
        ("B-a E-a", "BIOES"),
        ("creative-work O person", "IO"),  # a hyphen in a type does not mark a prefix
        ("NOUN VERB NOUN", "IO"),
        ("B I O", "BIO"),
        ("B E O S", "BIOES"),
        ("B M E S", "BMES"),  # Chinese word segmentation, without types
        ("B-a M-a E-a", "BMES"),
        ("U-a O", "BILOU"),
        ("B-a I-a L-a U-a X-a", "BILOU"),  # X-a is refused later
        ("B-a E-a S-a M-a U-a", "BIOES"),
        ("M W O M", "IO"),  # types, as no tag marks a first word
        ("B-creative-work O", "BIO"),
    ],
)
def test_detection_by_hand(tags, expected):
    assert detect_scheme([tags.split()]) == expected


def test_detection_counts_over_sentences():
    assert detect_scheme([["I-a"], ["B-a"], ["B-b", "I-b"], ["O"]]) == "BIO"
    assert detect_scheme(iter([["I-a"], ["I-a"]])) == "IOB1"  # entities end with the sentence


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("", []),
        ("O O", []),
        ("B-a", [("a", 0, 1)]),
        ("B-a I-a O B-a", [("a", 0, 2), ("a", 3, 4)]),
        ("I-a I-a", [("a", 0, 2)]),  # I- without B- begins an entity
        ("O I-a", [("a", 1, 2)]),
        ("B-a I-b", [("a", 0, 1), ("b", 1, 2)]),  # another type begins an entity
        ("I-a B-a I-a", [("a", 0, 1), ("a", 1, 3)]),
        ("B-a B-a", [("a", 0, 1), ("a", 1, 2)]),
        ("B-a-b I-a-b", [("a-b", 0, 2)]),
        ("B I O I", [("", 0, 2), ("", 3, 4)]),
        ("S-a S-a", [("a", 0, 1), ("a", 1, 2)]),
        ("B-a E-a B-a E-a", [("a", 0, 2), ("a", 2, 4)]),
        ("E-a E-a", [("a", 0, 1), ("a", 1, 2)]),  # each E- ends its entity
        ("S-a I-a", [("a", 0, 1), ("a", 1, 2)]),
        ("B-a O E-a", [("a", 0, 1), ("a", 2, 3)]),
    ],
)
def test_entities(tags, expected):
    assert find_entities(tags.split()) == [Entity(*entity) for entity in expected]


def test_invalid_sequence_is_unchanged_in_bio_and_fixed_in_other_schemes():
    assert from_bio(["O", "I-a", "I-b"], "BIO") == ("O", "I-a", "I-b")
    assert from_bio(["O", "I-a", "I-b"], "BIOES") == ("O", "S-a", "S-b")
    assert to_bio(["O", "I-a", "I-b"], "BIO") == ("O", "B-a", "B-b")


@pytest.mark.parametrize(
    ("tag", "scheme", "problem"),
    [
        ("O", "BIO", ""),
        ("I-creative-work", "BIO", ""),
        ("B", "BIO", ""),
        ("S-a", "BIOES", ""),
        ("person", "IO", ""),
        ("person", "BIO", "tag 'person' has none of the prefixes of BIO (B-, I-) and is not O"),
        ("U-a", "BIOES", "tag 'U-a' has none of the prefixes of BIOES (B-, I-, E-, S-) and is not O"),
        ("o", "IOB1", "tag 'o' has none of the prefixes of IOB1 (B-, I-) and is not O"),
        ("BI-a", "BIO", "tag 'BI-a' has none of the prefixes of BIO (B-, I-) and is not O"),
        ("-a", "BIO", "tag '-a' has none of the prefixes of BIO (B-, I-) and is not O"),
        ("B-", "BIO", "tag 'B-' names no type"),
    ],
)
def test_problems(tag, scheme, problem):
    assert describe_tag_problem(tag, scheme) == problem


def test_labels_are_o_and_two_tags_per_type():
    assert make_label_list([["O", "I-b"], ["B-a"], ["B-B"]]) == ("O", "B-B", "I-B", "B-a", "I-a", "B-b", "I-b")
    assert make_label_list([["O"]]) == ("O",)
    assert make_label_list([["B", "I"]]) == ("O", "B", "I")


sequences = st.lists(st.sampled_from(["O", "B-a", "I-a", "B-b-c", "I-b-c"]), max_size=12)


@quick
@given(sequences, st.sampled_from(["BIO", "IOB1", "BIOES", "BMES", "BMEWO", "BILOU"]))
def test_conversions_round_trip(tags, scheme):
    bio = to_bio(tags, "BIO")
    assert find_entities(bio) == find_entities(tags)
    assert to_bio(bio, "BIO") == bio
    written = from_bio(bio, scheme)
    assert to_bio(written, scheme) == bio
    assert from_bio(to_bio(written, scheme), scheme) == written
    assert all(not describe_tag_problem(tag, scheme) for tag in written)


@quick
@given(st.lists(st.sampled_from(["O", "a", "b-c"]), max_size=12))
def test_io_round_trips(tags):
    assert from_bio(to_bio(tags, "IO"), "IO") == tuple(tags)


@quick
@given(sequences)
def test_bio_begins_each_entity_with_b(tags):
    previous = ("O", "")
    for prefix, entity_type in map(split_tag, to_bio(tags, "BIO")):
        assert prefix != "I" or (previous[0] in ("B", "I") and previous[1] == entity_type)
        previous = (prefix, entity_type)
