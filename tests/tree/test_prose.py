"""English and references of docstrings and comments, on small trees."""

import ast

import pytest

from tests.house_figures import walk
from tests.prose import RATES, Room, Text, add_file, figure, places
from tests.tree.prose import (
    Names,
    bad_summaries,
    docstrings,
    rates,
    references,
    stale_arguments,
    stale_references,
)

FILES = {
    "bert_cli/model/layout.py": "class Layout: ...",
    "bert_cli/model/ops.py": "",
    "bert_cli/flags/option.py": "",
    "bert_cli/heads/losses.py": "",
    "tests/tree/words.py": "",
}


@pytest.mark.parametrize(
    ("comment", "stale"),
    [
        ("see layout.py, model/layout.py and tests/tree/words.py", []),
        ("see model.layout, layout.Layout, bert_cli.model.layout.Layout and flags.option", []),
        ("the loss of session.run, tf.gather(x) or np.load; config.json, model.ckpt and modeling.py", []),
        ("see model/lay_out.py", ["model/lay_out.py"]),
        ("see layout.no_such_name", ["layout.no_such_name"]),
        ("see model.lay_out.Layout.", ["model.lay_out.Layout"]),
        ("`heads.losses.NO_SUCH_NAME`", ["heads.losses.NO_SUCH_NAME"]),
    ],
)
def test_references_to_nothing_are_recognized(comment, stale, write_tree):
    place = "bert_cli/model/ops.py:1"
    names = Names(write_tree(FILES))
    messages = stale_references(Text(place, comment, None, 0), {"session"}, names)
    assert messages == [f"{place}: {name}: no such file, module or name" for name in stale]


def test_texts_are_counted_and_checked():
    source = '''
def f(a, b, wanted):
    """Whether a is what b says, and return it
    if used.
    """
    for each in a:  # where it is none
        pass


class A:
    """Noun.

    Args:
        a: no function.
    """

    def g(self, a, b, c):
        """Return a of the b.

        Args:
            a: its text.
            b, d: of another.
        """
'''
    room = Room([], [])
    add_file(room, "a.py", source, walk(ast.parse(source)))
    counts = {name: len(places(room, rate)) for name, rate in RATES.items() if places(room, rate)}
    assert counts == {
        "where": 1, "if": 1, "what": 1, "of_the": 2, "says": 1, "use": 1, "return": 2, "none": 1,
        "headless": 1, "no_sentence": 1, "vague": 2,
    }  # fmt: skip
    (summary,) = bad_summaries(room)
    assert summary.startswith("a.py:3: Whether a is what b says, and return it: one line ")
    assert stale_arguments(room) == ["a.py:18: d: no such parameter"]
    assert figure(room, RATES["vague"]) == 1000 * 2 / 8


def test_a_room_is_measured_and_its_docstrings_are_checked(write_tree):
    function = 'def f(a):\n    """Return a\n\n    Args:\n        b: none.\n    """\n'
    module = f'"""What it says, see text.b."""\n\n{function}'
    checkout = write_tree({"bert_cli/text/a.py": module, "bert_cli/text/b.py": "# A sentence.\n" * 300})
    messages = list(rates(checkout))
    assert "bert_cli/text/__init__.py:1: if is 0.00, at least 3.0: write sentences" in messages
    assert any(message.startswith("bert_cli/text/a.py:1: What it says") for message in messages)
    (summary, argument) = docstrings(checkout)
    assert summary.startswith("bert_cli/text/a.py:4: Return a: one line")
    assert argument == "bert_cli/text/a.py:4: b: no such parameter"
    assert list(references(checkout)) == []
    checkout = write_tree({"bert_cli/text/b.py": "# See text.a.g.\n"})
    assert list(references(checkout)) == ["bert_cli/text/b.py:1: text.a.g: no such file, module or name"]


def test_names_that_begin_with_a_point_are_members_of_a_class_in_the_text(write_tree):
    base = "class Task:\n    def read(self): ..."
    task = "from bert_cli.runs.interface import Task\n\n\nclass TagTask(Task):\n    labels: list"
    comment = (
        "# TagTask: `.read`, .labels and .open, of a .csv. read.open and x.y belong to others.\n# Nothing has .read."
    )
    checkout = write_tree(
        {"bert_cli/runs/interface.py": base, "bert_cli/runs/tag.py": task, "bert_cli/runs/use.py": comment}
    )
    assert list(references(checkout)) == ["bert_cli/runs/use.py:1: .open: no class that the text names has it"]
