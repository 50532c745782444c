"""Labels and problem types of tasks."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.glue import TASKS
from bert_cli.problem_types.registry import TASK_FACTS, find_facts
from bert_cli.settings.answering import TASK_NAMES
from tests.snapshots import raises


def test_all_tasks_have_facts():
    assert set(TASK_FACTS) == set(TASKS) == set(TASK_NAMES)
    assert find_facts("CoLA").labels == ("0", "1")


@pytest.mark.parametrize("name", TASKS)
def test_pairs_are_those_of_the_files(name):
    layouts = [layout for layouts in TASKS[name].splits.values() for layout in layouts]
    assert TASK_FACTS[name].has_pairs == any(layout.text_b is not None for layout in layouts)


def test_an_unknown_task_is_refused():
    with raises(InputError, "--task_name: "):
        find_facts("cool")
