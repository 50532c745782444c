"""Table of problem types, and attributes that other rooms read."""

from bert_cli.base.errors import InputError
from bert_cli.problem_types.registry import PROBLEM_TYPES, SINGLE_LABEL, problem_type
from tests.snapshots import raises


def test_problem_types_have_their_names():
    assert list(PROBLEM_TYPES) == ["single_label", "multi_label", "regression", "multiple_choice"]
    assert all(problem_type(name) is expected for name, expected in PROBLEM_TYPES.items())


def test_none_is_single_label():
    assert problem_type(None) is SINGLE_LABEL


def test_unknown_name_is_refused():
    with raises(InputError, "--problem_type=several: "):
        problem_type("several")


def test_outputs_of_a_model_with_three_labels():
    counts = {name: candidate.reader.output_count(("a", "b", "c")) for name, candidate in PROBLEM_TYPES.items()}
    assert counts == {"single_label": 3, "multi_label": 3, "regression": 1, "multiple_choice": 1}


def test_problem_types_with_named_outputs():
    named = {name for name, candidate in PROBLEM_TYPES.items() if candidate.reader.keep_names(None) is None}
    assert named == {"single_label", "multi_label"}
