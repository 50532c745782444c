"""Labels keep their type: integers and truth values; texts and mixed labels are texts."""

import pytest

from bert_cli.api.inputs.label_types import find_label_type, read_label_values


@pytest.mark.parametrize(
    ("labels", "label_type"),
    [
        ([0, 1, None], "int"),
        ([True, False], "bool"),
        ([0.5, 1.0], None),
        ([[1, 7], [], {2}], "int"),
        (["0", "1"], None),
        ([0, "1"], None),
        ([0, True], None),
        ([[1], ["a"]], None),
        ([], None),
        ([None], None),
    ],
)
def test_the_type_of_labels(labels, label_type):
    assert find_label_type(labels) == label_type
    values = [value for item in labels for value in (item if isinstance(item, list | set) else [item])]
    values = [value for value in values if value is not None]
    if label_type:
        restored = read_label_values([str(value) for value in values], label_type)
        assert restored == tuple(values)
        assert {type(value).__name__ for value in restored} == {label_type}


@pytest.mark.parametrize(("name", "label_type"), [("good", "int"), ("yes", "bool"), ("1", "another")])
def test_renamed_labels_are_texts(name, label_type):
    assert read_label_values([name], label_type) == (name,)
    assert read_label_values(["7", name], None) == ("7", name)
