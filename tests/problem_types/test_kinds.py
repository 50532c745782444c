"""Kinds of tasks."""

import itertools

import pytest

from bert_cli.__main__ import COMMANDS
from bert_cli.base.head_types import CHOICE, CLASSIFIER, HEAD_TYPES, MASKED_LM, SPANS, TAGGER
from bert_cli.problem_types.kinds import CHOICE_USES, CLASSIFICATION, KINDS, QUESTIONS, TAGGING, find_task_kind
from bert_cli.report.page import EVALUATIONS
from bert_cli.report.run_settings import SETTINGS
from bert_cli.serving.loading import MODEL_CLASSES


@pytest.mark.parametrize(
    ("head_types", "expected"),
    [
        ({CLASSIFIER}, CLASSIFICATION),
        ({TAGGER, None}, TAGGING),
        ({SPANS}, QUESTIONS),
        ({MASKED_LM}, None),
        ({CHOICE}, None),
        ({None}, None),
        (set(), None),
    ],
)
def test_the_kind_of_a_head(head_types, expected):
    assert find_task_kind(head_types) is expected


def test_each_kind_has_cards_settings_and_a_served_model():
    assert EVALUATIONS.keys() == SETTINGS.keys() == MODEL_CLASSES.keys() == KINDS.keys()


def test_uses_are_lines_of_commands():
    for _, use in itertools.chain(CHOICE_USES, *(row.uses for row in KINDS.values())):
        line = use.format(folder="a", pair=" --text_b 'b'")
        assert line.split()[0] in COMMANDS
        assert "{" not in line


def test_heads_exist():
    assert {row.head_type for row in KINDS.values()} - {None} <= HEAD_TYPES.keys()
