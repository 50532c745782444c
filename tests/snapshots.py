"""Messages of tests, stored in tests/messages/ as text that a person reads in a diff.

A test passes an error or log lines to `check_message`, or wraps the call that fails in `raises`. After the
test, pytest compares all its messages with tests/messages/<path of the test file>.txt. `make messages`
runs the tests and writes the files instead. The test itself asserts the error's type and place, the
number or name that it is about, the exit code and the files.
"""

import contextlib
import difflib
import itertools
import pathlib
import re
from collections.abc import Callable, Iterator

import pytest

TESTS = pathlib.Path(__file__).resolve().parent
MESSAGES = TESTS / "messages"
# Pattern -> name in the stored text, for values that differ between runs and machines.
HIDDEN = {
    re.escape(str(TESTS.parent)): "CHECKOUT",
    re.escape(str(TESTS.parents[1] / "shared")): "SHARED",
    r"\bprocess \d+ on [\w.-]+": "process PID on HOST",
    r"\bprocess \d+": "process PID",
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d( [+-]\d{4})?": "TIME",
    r"\b(127\.0\.0\.1|localhost):\d+": r"\1:PORT",
    r"--port=\d{4,5}": "--port=PORT",
    r"\b0x[0-9a-f]{6,}": "0xADDRESS",
    r"this machine has [\d.]+ GB, [\d.]+ GB of them free": "this machine has N GB, N GB of them free",
    r"[\d.]+ [GT]B are free": "N GB are free",
    r"needs at least \d+ MB": "needs at least N MB",
    r"\b(TensorFlow|tensorflow-tpu|Python) \d[\w.]*": r"\1 VERSION",
    r"\.py:\d+": ".py:LINE",
    # Reasons from HDF5 and safetensors, which other versions word differently.
    r"Unable to (synchronously )?open file \(.*\)": "REASON",
    r"(?<=Error while deserializing header: )[\w ,]+": "REASON",
    r"(?<=heap at byte )\d+": "N",
}
# Indented lines per call of `check_message`.
_recorded: list[str] = []


def hide_directories(pytest_directory: pathlib.Path, temporary_directory: str) -> None:
    """Store paths without the directories of this run.

    Args:
        pytest_directory: parent of the directories from tmp_path and tmp_path_factory.
        temporary_directory: value of TMPDIR.
    """
    base = re.escape(str(pytest_directory))
    # A worker's directory is below that of the run, which has the models that all workers share.
    shared = re.escape(str(pytest_directory.parent if "popen-gw" in pytest_directory.name else pytest_directory))
    HIDDEN[rf"{shared}/built_once"] = "TMP"
    HIDDEN.update(
        {rf"{base}/places\d+/\d+/": "", rf"{base}/[\w-]+": "TMP", rf"{re.escape(temporary_directory)}/[\w-]+": "TMPDIR"}
    )


def check_message(text: object, *fragments: object) -> None:
    """Record an error, a line or a log for the comparison after the test.

    Args:
        text: an exception, the result of `pytest.raises`, the fixture `caplog`, a text, or a list of lines.
        fragments: if given, only lines with all of them are recorded, and there must be one.
    """
    match text:
        case pytest.LogCaptureFixture():
            texts = text.messages
        case pytest.ExceptionInfo():
            texts = [str(text.value)]
        case str():
            texts = text.rstrip("\n").split("\n")
        case list():
            texts = text
        case _:
            texts = [str(text)]
    lines = [line for line in texts if all(str(fragment) in line for fragment in fragments)]
    assert lines, f"no line has {', '.join(map(repr, fragments))}: {texts}"
    recorded = "\n".join(map(_plain, lines))
    if recorded not in _recorded:  # several readers, or the same error twice, have one message
        _recorded.append(recorded)


@contextlib.contextmanager
def raises(error: type[BaseException], *fragments: object) -> Iterator[pytest.ExceptionInfo]:
    """Record the message of an error that the block must raise, with all `fragments` in it."""
    with pytest.raises(error) as caught:
        yield caught
    check_message(caught, *fragments)


def _plain(text: str) -> str:
    """Return a message as it is stored: without directories and control characters, indented."""
    for pattern, name in HIDDEN.items():
        text = re.sub(pattern, name, text)
    lines = ("".join(c if c.isprintable() else repr(c)[1:-1] for c in line) for line in text.split("\n"))
    return "    " + "\n        ".join(lines)


def forget() -> None:
    """Forget messages from fixtures and the test before."""
    _recorded.clear()


def compare(test_file: pathlib.Path, test: str) -> None:
    """Fail unless the recorded messages are equal to the stored ones."""
    actual = "\n".join(_recorded)
    expected = read(stored_path(test_file)).get(test, "")
    if actual != expected:
        versions = expected.splitlines(), actual.splitlines()
        lines = difflib.unified_diff(*versions, "stored", "this run", lineterm="", n=99)
        path = "tests/messages" / stored_path(test_file).relative_to(MESSAGES)
        pytest.fail("\n".join([f"other messages than in {path}: `make messages` writes it", *lines]), pytrace=False)


def is_stored(test_file: pathlib.Path, test: str) -> bool:
    """Return whether a test has stored messages."""
    return test in read(stored_path(test_file))


def write(test_file: pathlib.Path, test: str, is_current: Callable[[str], bool]) -> None:
    """Store a test's recorded messages.

    Args:
        test_file: path of the test file.
        test: its name with parameters.
        is_current: whether a name belongs to a test that still exists; others are dropped.
    """
    path = stored_path(test_file)
    stored = {name: text for name, text in read(path).items() if is_current(name)} | {test: "\n".join(_recorded)}
    # The parameters of a test that have the same messages come one after another.
    entries = sorted((name.partition("[")[0], text, name) for name, text in stored.items() if text)
    if entries:
        groups = itertools.groupby(entries, key=lambda entry: entry[:2])
        lines = (line for (_, text), group in groups for line in [*(name for *_, name in group), text])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    else:
        path.unlink(missing_ok=True)


def stored_path(test_file: pathlib.Path) -> pathlib.Path:
    """Return the path of a test file's messages."""
    return (MESSAGES / test_file.relative_to(TESTS)).with_suffix(".txt")


def read(path: pathlib.Path) -> dict[str, str]:
    """Return the indented messages in a file by test, without any if it is missing.

    Tests with the same messages are listed above them.
    """
    if not path.is_file():
        return {}
    groups = re.findall(r"^((?:\S.*\n)+)((?: .*\n)+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: lines.removesuffix("\n") for names, lines in groups for name in names.removesuffix("\n").split("\n")}
