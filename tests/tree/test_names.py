"""Names that mean one thing, on small trees."""

from tests.tree import names
from tests.tree.names import renamed_classes, shared_class_names, shared_function_names, small_families


def test_two_types_of_one_name_are_found(write_tree):
    checkout = write_tree(
        {
            "bert_cli/model/layers.py": "import sys\n\nif sys.platform:\n    class Dense: ...\nclass _Table: ...",
            "bert_cli/sentence/steps.py": "class Dense:\n    class Row: ...\nclass _Table: ...",
            "bert_cli/reading/rows.py": "class Row: ...\nItem = TypeVar('Item')\nROWS = 3",
            "bert_cli/reading/items.py": "class Item: ...\nROWS = 4",
            "bert_cli/report/rows.py": "Row = dict[str, str]",
        }
    )
    assert list(shared_class_names(checkout)) == [
        "bert_cli/model/layers.py:4: Dense is also a type in bert_cli/sentence/steps.py: say what only this one is",
        "bert_cli/sentence/steps.py:1: Dense is also a type in bert_cli/model/layers.py: say what only this one is",
        "bert_cli/reading/rows.py:1: Row is also a type in bert_cli/report/rows.py: say what only this one is",
        "bert_cli/report/rows.py:1: Row is also a type in bert_cli/reading/rows.py: say what only this one is",
    ]


def test_a_class_that_is_imported_under_another_name_is_found(write_tree):
    imports = (
        "from bert_cli.model.layers import Dense as Dense, SIZE as SIZES\nfrom rich.progress import Progress as Bar"
    )
    checkout = write_tree(
        {
            "bert_cli/model/layers.py": "SIZE = 1\nclass Dense: ...",
            "bert_cli/heads/model.py": imports,
            "bert_cli/heads/squad.py": "def f():\n    from bert_cli.model.layers import Dense as Layer",
        }
    )
    assert list(renamed_classes(checkout)) == [
        "bert_cli/heads/squad.py:2: Dense is imported as Layer: use its name, or rename the class"
    ]


def test_two_functions_of_one_name_are_found_outside_of_families(write_tree, monkeypatch):
    monkeypatch.setattr(names, "FAMILIES", {"features": {"format_features", "pack"}})
    checkout = write_tree(
        {
            "bert_cli/features/squad.py": "def format_features(): ...\ndef pack(): ...",
            "bert_cli/features/tagging.py": "def format_features(): ...\ndef read(): ...",
            "bert_cli/reading/rows.py": "def read(): ...\ndef _pack(): ...",
        }
    )
    assert list(shared_function_names(checkout)) == [
        "bert_cli/features/tagging.py:2: read is also a function in bert_cli/reading/rows.py: say what only this one does",
        "bert_cli/reading/rows.py:1: read is also a function in bert_cli/features/tagging.py: say what only this one does",
    ]
    (problem,) = small_families(checkout)
    assert problem.endswith(": features has 1 pack: remove the entry")
