"""Stored messages belong to a test, on a small tree."""

from tests.tree.messages import lost_messages


def test_messages_without_a_test_are_reported(write_tree):
    files = {
        "tests/text/test_a.py": "def test_b():\n    pass\n",
        "tests/messages/text/test_a.txt": "test_b[0-[1]]\n    a message\n        [its second line]\ntest_c[1]\n    a\n",
        "tests/messages/text/test_d.txt": "test_b\n    a\n",
    }
    assert [problem.partition(": ")[0] for problem in lost_messages(write_tree(files))] == [
        "tests/messages/text/test_a.txt:4", "tests/messages/text/test_d.txt:1",
    ]  # fmt: skip
