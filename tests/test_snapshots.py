"""Messages of tests are compared with stored ones, and stored only if asked for."""

import pytest

from tests import snapshots
from tests.snapshots import check_message, compare, raises, stored_path, write

FILE = snapshots.TESTS / "text" / "test_a.py"


@pytest.fixture(autouse=True)
def stored(tmp_path, monkeypatch):
    """Store messages in an empty directory, and none of these tests."""
    monkeypatch.setattr(snapshots, "MESSAGES", tmp_path / "messages")
    return tmp_path / "messages" / "text" / "test_a.txt"


@pytest.fixture
def run(stored):
    """Return a function that records the messages of a test and calls `compare` or `write`."""

    def call(action, test, *texts, **options):
        snapshots.forget()
        for text in texts:
            check_message(text)
        try:
            action(FILE, test, **options)
        finally:
            snapshots.forget()

    return call


def keep(name):
    return True


def test_written_messages_are_compared(run, stored):
    run(write, "test_b[x]", "t.csv:2: a\u2028b", ValueError("two\nlines"), is_current=keep)
    run(write, "test_b[y]", "t.csv:2: a\u2028b", ValueError("two\nlines"), is_current=keep)
    run(write, "test_a", "first", "second\n", "first", is_current=keep)
    assert stored == stored_path(FILE)
    expected = "test_a\n    first\n    second\ntest_b[x]\ntest_b[y]\n    t.csv:2: a\\u2028b\n    two\n        lines\n"
    assert stored.read_text(encoding="utf-8") == expected
    for test in ("test_b[x]", "test_b[y]"):
        run(compare, test, "t.csv:2: a\u2028b", ValueError("two\nlines"))
    run(compare, "test_c")
    for test, texts in {"test_a": ["first", "third"], "test_b[x]": ["two\nlines"], "test_c": ["new"]}.items():
        with pytest.raises(pytest.fail.Exception, match=r"`make messages`"):
            run(compare, test, *texts)
    assert stored.read_text(encoding="utf-8") == expected


def test_messages_of_tests_that_are_gone_are_dropped(run, stored):
    run(write, "test_a", "first", is_current=keep)
    run(write, "test_b", "second", is_current={"test_b"}.__contains__)
    assert stored.read_text(encoding="utf-8") == "test_b\n    second\n"
    run(write, "test_b", is_current=keep)
    assert not stored.exists()


def test_paths_have_no_directories_of_this_run(run, stored, tmp_path, own_place):
    lines = f"{tmp_path}/t.csv:2: a", f"{own_place}/b, {snapshots.TESTS}/c"
    run(write, "test_a", *lines, is_current=keep)
    assert stored.read_text(encoding="utf-8") == "test_a\n    TMP/t.csv:2: a\n    work/b, CHECKOUT/tests/c\n"


def test_only_lines_with_all_fragments_are_recorded(run, stored):
    check_message("a 1\nb 1\na 2", "a")
    check_message(["a 1", "a 2"], "a", 2)
    write(FILE, "test_a", keep)
    snapshots.forget()
    assert stored.read_text(encoding="utf-8") == "test_a\n    a 1\n    a 2\n    a 2\n"
    with pytest.raises(AssertionError, match="no line has 'c'"):
        check_message("a 1", "c")


def test_an_error_is_recorded(run, stored):
    with raises(ValueError, "t.csv:2: "):
        raise ValueError("t.csv:2: is bad")
    write(FILE, "test_a", keep)
    snapshots.forget()
    assert stored.read_text(encoding="utf-8") == "test_a\n    t.csv:2: is bad\n"
    with pytest.raises(AssertionError, match=r"no line has 't\.csv:3'"), raises(ValueError, "t.csv:3"):
        raise ValueError("t.csv:2: is bad")
    with pytest.raises(pytest.fail.Exception, match="DID NOT RAISE"), raises(ValueError, "t.csv:2: "):
        pass
