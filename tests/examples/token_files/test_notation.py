"""Tag notations: schemes, outside tags and prefix forms, detected, read and written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_cli.examples.token_files.notation import (
    NotationFlags,
    TagNotation,
    detect_notation,
    format_tag,
    label_aliases,
    parse_tag,
)
from bert_cli.settings.answering import TAG_FORM

FORMS = ["B-PER", "b-PER", "B_PER", "B:PER", "B/PER", "BPER", "PER-B", "PER_B", "PER.b", "PER|B"]


def detect(tags, *flags, types=()):
    return detect_notation([sentence.split() for sentence in tags.split("|")], NotationFlags(*flags), types)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("PER 0 0 LOC 0", TagNotation("IO", "0")),
        ("PER OTHER LOC OTHER", TagNotation("IO", "OTHER")),
        ("PER nichts LOC nichts nichts | " * 4 + "nichts", TagNotation("IO", "nichts")),  # any name
        ("PER nichts LOC nichts nichts", TagNotation("IO")),  # too few words
        ("PER PER PER 0", TagNotation("IO", "0")),  # a usual name on few words
        ("PER LOC OTHER PER O", TagNotation("IO")),  # with O, OTHER is a type
        ("PER PER other LOC", TagNotation("IO")),  # also without O, if it is rare
        ("B-PER I-PER o o", TagNotation("BIO", "o")),
        ("B-PER I-PER B-PER NONE", TagNotation("BIO", "NONE")),
        ("_ _ B-PER M-PER E-PER", TagNotation("BMES", "_")),
        ("B-PER B-PER B-PER I-PER", TagNotation("BIO")),  # every word is in an entity
        ("NN VB DT NN JJ", TagNotation("IO")),  # parts of speech have no outside tag
        ("x x", TagNotation("IO")),  # the only tag
        ("B M E S S S S S", TagNotation("BMES")),  # Chinese words: most characters have S
        ("", TagNotation("BIO")),
    ],
)
def test_outside_tags(tags, expected):
    assert detect(tags) == expected


def test_model_types_are_not_outside_tags():
    assert detect("PER PER PER LOC", types={"PER", "LOC"}) == TagNotation("IO")
    assert detect("0 0 0 LOC", types={"0", "LOC"}) == TagNotation("IO")


def test_flags_take_precedence():
    assert detect("PER 0 0", None, "O") == TagNotation("IO", "O")
    assert detect("B_x I_x O", "IO") == TagNotation("IO")
    assert detect("x_B O", "BIOES", "O", "PER_B") == TagNotation("BIOES", "O", "PER_B")


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("B_PER I_PER O", TagNotation("BIO", form="B_PER")),
        ("B:PER I:PER O", TagNotation("BIO", form="B:PER")),
        ("BPER IPER O", TagNotation("BIO", form="BPER")),
        ("b-per i-per O", TagNotation("BIO", form="b-PER")),
        ("PER-B PER-I O LOC-B", TagNotation("BIO", form="PER-B")),
        ("NAME_B NAME_M NAME_E O", TagNotation("BMES", form="PER_B")),
        ("PER.U O LOC.B LOC.L", TagNotation("BILOU", form="PER.B")),
        ("I_PER I_LOC O", TagNotation("IOB1", form="B_PER")),
        ("b i o", TagNotation("BIO", "o", "b-PER")),
        ("B_cell T_cell O", TagNotation("IO")),  # types with an underscore
        ("TYPE_I TYPE_II O", TagNotation("IO")),
        ("BUS IN O", TagNotation("IO")),
        ("creative-work O", TagNotation("IO")),
        # One of twenty tags has a typing error, which is refused later, as in the usual form.
        ("O " + "B_a I_a " * 10 + "X_a", TagNotation("BIO", form="B_PER")),
    ],
)
def test_forms(tags, expected):
    assert detect(tags) == expected


@pytest.mark.parametrize("form", FORMS)
def test_tags_are_parsed_and_formatted(form):
    assert TAG_FORM.fullmatch(form)
    for entity_type in ("LOC", "a-b_c", "B"):
        assert parse_tag(form, format_tag(form, "I", entity_type)) == ("I", entity_type)
    assert parse_tag(form, format_tag(form, "B", "")) == ("B", "")
    assert parse_tag(form, "X-LOC") is None


@pytest.mark.parametrize(
    ("tag", "notation", "problem"),
    [
        ("0", TagNotation("IO", "0"), ""),
        ("O", TagNotation("IO", "0"), "tag 'O', though '0' is the tag outside entities (--outside_tag)"),
        ("PER_I", TagNotation(form="PER_B"), ""),
        ("PER", TagNotation(form="PER_B"), "tag 'PER' has none of the prefixes of BIO (_B, _I) and is not O"),
        ("_B", TagNotation(form="PER_B"), "tag '_B' names no type"),
        ("U-a", TagNotation("BMES"), "tag 'U-a' has none of the prefixes of BMES (B-, M-, E-, S-) and is not O"),
        ("0", TagNotation(), "tag '0' has none of the prefixes of BIO (B-, I-) and is not O"),
        (
            "(PER*",
            TagNotation("IO", "*"),
            "tag '(PER*' is in brackets, as in CoNLL-2012, and BIO (B-x, I-x, O) is needed",
        ),
    ],
)
def test_problems(tag, notation, problem):
    assert notation.describe_problem(tag) == problem


sequences = st.lists(st.sampled_from(["O", "B-a", "I-a", "B-b-c", "I-b-c"]), max_size=12)
notations = st.builds(
    TagNotation,
    st.sampled_from(["BIO", "IOB1", "BIOES", "BMES", "BMEWO", "BILOU"]),
    st.sampled_from(["O", "0", "OTHER", "_"]),
    st.sampled_from(FORMS),
)


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(sequences, notations)
def test_tags_round_trip(tags, notation):
    bio = TagNotation().decode(tags)
    written = notation.encode(bio)
    assert notation.decode(written) == bio
    assert not any(map(notation.describe_problem, written))


def test_log_names_unusual_values():
    assert str(TagNotation("BIOES")) == "BIOES"
    assert str(TagNotation("BMES", "0", "PER_B")) == "BMES with tags such as PER_B, 0 outside entities"
    assert TagNotation("IO").facts == {"tag_scheme": "IO"}
    assert TagNotation("IO", "0").facts == {"tag_scheme": "IO", "outside_tag": "0"}


def test_aliases_of_labels_in_other_models():
    aliases = label_aliases(("O", "B-PER", "I-PER", "B", "I"))
    assert list(aliases) == ["B-PER", "I-PER"]
    # Other forms come before the scheme IO, and that before the inner words of IOB1.
    first = aliases["B-PER"].index
    assert first("B-PER") < first("PER_B") < first("PER") < first("I-PER") < first("PER-I")
    assert {"I_PER", "PER-I", "M-PER", "PER.M", "PER"} < set(aliases["I-PER"])
    assert not {"BPER", "B-PER", "O"} & set(aliases["I-PER"])
    assert "BPER" not in aliases["B-PER"]
