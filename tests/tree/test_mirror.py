"""A module and its test have the same path, on small trees."""

import pytest

from tests.tree import mirror
from tests.tree.mirror import lost_tests, module_of, stale_entries, untested_modules


@pytest.fixture
def checkout(write_tree, monkeypatch):
    listed = {
        "text/listed.py": "commands/test_a.py",
        "text/gone.py": "commands/test_gone.py",
        "text/a.py": "commands/test_a.py",
    }
    monkeypatch.setattr(mirror, "TESTED_END_TO_END", listed)
    names = ("a", "b", "listed")
    files = {f"bert_cli/text/{name}.py": "" for name in names} | {
        "bert_cli/run.py": "",
        "bert_cli/text/__init__.py": "",
    }
    tests = ("text/test_a_topic.py", "text/test_lost.py", "commands/test_a.py", "test_other.py")
    table = {mirror.LIST: "".join(f'"{name}": \n' for name in listed)}
    return write_tree(files | {f"tests/{name}": "" for name in tests} | table)


def test_tests_and_modules_without_the_other_are_reported(checkout):
    (lost,) = lost_tests(checkout)
    assert lost.startswith("tests/text/test_lost.py:1: ")
    (untested,) = untested_modules(checkout)
    assert untested.startswith("bert_cli/text/b.py:1: no test: add tests/text/test_b.py")


def test_stale_entries_are_reported(checkout):
    problems = [message.removeprefix(f"{mirror.LIST}:") for message in stale_entries(checkout)]
    assert [message.partition(": ")[0] for message in problems] == ["2", "2", "3"]
    assert [message.partition(": ")[2].partition(":")[0] for message in problems] == [
        "text/gone.py does not exist", "tests/commands/test_gone.py does not exist",
        "text/a.py has the test tests/text/test_a_topic.py",
    ]  # fmt: skip


def test_a_topic_belongs_to_the_longest_name():
    modules = {"text/tokenization.py", "text/tokenizer.py", "text/tokenizer_json.py"}
    assert module_of("text/test_tokenization_golden.py", modules) == "text/tokenization.py"
    assert module_of("text/test_tokenizer_json.py", modules) == "text/tokenizer_json.py"
    assert module_of("text/test_nothing.py", modules) is None
