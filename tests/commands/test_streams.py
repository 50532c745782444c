"""Lines of standard input that arrive slowly: each one is answered before the next one is sent."""

import json
import subprocess
import sys
import time
from typing import Any

import pytest

from bert_cli import fill_mask, run_classifier, run_squad, run_tagging
from tests.commands import helpers
from tests.rows import write_rows

# bert-squad and bert-fill-mask skip blank lines, the other commands answer them.
TEXTS = ("the old dog sees a cat .", "", "a bird", "the bird likes a small fish and a horse .", "a dog")
MASKED = ("the [MASK] sees a cat .", "  ", "a [MASK] .", "the bird [MASK] a small fish .", "it was [MASK] .")
QUESTIONS = (
    '{"id": "1", "question": "who sees a dog ?", "context": "the cat sees a dog . a bird sings ."}',
    "",
    '{"id": "2", "question": "who sings ?", "context": "a bird sings ."}',
    '{"id": "3", "question": "who ?", "context": "the dog"}',
    '{"id": "4", "question": "what does a bird do ?", "context": "a bird sings ."}',
)


# Commands read lines in two ways: texts and questions.
SLOWER = [pytest.param(name, marks=pytest.mark.slow) for name in ("tag", "fill-mask")]


@pytest.fixture
def stream(request):
    """Return (module, lines, flags, whether blank lines are answered) of a command."""
    fixtures = {"classify": "trained_once", "tag": "tagger_once", "squad": "answering"}
    modules = {"classify": run_classifier, "tag": run_tagging, "squad": run_squad, "fill-mask": fill_mask}
    lines = {"squad": QUESTIONS, "fill-mask": MASKED}.get(request.param, TEXTS)
    flags = []
    if request.param in fixtures:
        value = request.getfixturevalue(fixtures[request.param])
        flags = [f"--output_dir={value if request.param == 'squad' else value[0]}"]
    return modules[request.param], lines, flags, request.param in ("classify", "tag")


def assert_same(received: Any, expected: Any) -> None:
    """Assert that values of JSON are equal, numbers to rounding."""
    if isinstance(expected, dict):
        assert received.keys() == expected.keys()
        for name, value in expected.items():
            assert_same(received[name], value)
    elif isinstance(expected, list):
        assert len(received) == len(expected)
        for value, expected_value in zip(received, expected, strict=True):
            assert_same(value, expected_value)
    elif isinstance(expected, float):
        assert received == pytest.approx(expected, abs=2e-6)
    else:
        assert received == expected


@pytest.mark.parametrize(
    ("stream", "flag"),
    [
        ("classify", ""),
        ("squad", ""),
        ("squad", "--line_buffered"),
        ("fill-mask", ""),
        pytest.param("tag", "", marks=pytest.mark.slow),
        *(
            pytest.param(command, "--line_buffered", marks=pytest.mark.slow)
            for command in ("classify", "tag", "fill-mask")
        ),
    ],
    indirect=["stream"],
)
def test_each_line_is_answered_before_the_next_one_is_sent(stream, flag, tmp_path, capfd):
    module, lines, flags, answers_blank = stream
    path = write_rows(tmp_path / "lines.txt", lines)
    done = helpers.call(capfd, "", module.main, *flags, f"--input_file={path}")
    expected = [json.loads(line) for line in done.out.splitlines()]
    records, seconds = [], []
    command = [sys.executable, "-m", module.__name__, *flags, "--input_file=-", *[flag] * bool(flag)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        for line in lines:
            start_time = time.monotonic()
            process.stdin.write(f"{line}\n".encode())
            process.stdin.flush()
            if line.strip() or answers_blank:
                records.append(json.loads(process.stdout.readline()))
                seconds.append(time.monotonic() - start_time)
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(60) == 0
    assert_same(records, expected)
    print(f"{module.__name__} {flag}: {[f'{1000 * value:.0f} ms' for value in seconds]}")
    # The first line waits for the model. Others are slow only if the machine is busy.
    assert min(seconds[1:]) < 0.1


@pytest.mark.parametrize("stream", ["classify", "squad", *SLOWER], indirect=True)
def test_many_lines_of_a_pipe_are_computed_together(stream, tmp_path, capfd):
    """A fast pipe gives the bytes of a file; the last line needs no line end."""
    module, lines, flags, _ = stream
    # Ids of questions must differ.
    text = "\n".join(lines if module is run_squad else lines * 30)
    path = tmp_path / "lines.txt"
    path.write_text(text, encoding="utf-8")
    expected = helpers.call(capfd, "", module.main, *flags, f"--input_file={path}")
    command = [sys.executable, "-m", module.__name__, *flags, "--input_file=-"]
    done = subprocess.run(command, capture_output=True, check=True, input=text.encode())
    assert done.stdout == expected.out.encode()
    assert len(done.stdout.splitlines()) >= 4


def test_a_first_line_of_unknown_words_does_not_end_a_stream(trained_once):
    """In a whole file, the same words are an error about the vocabulary."""
    command = [sys.executable, "-m", run_classifier.__name__, f"--output_dir={trained_once[0]}", "--input_file=-"]
    unknown = "\u4e00 \u4e00 \u4e00\n".encode()
    done = subprocess.run(command, input=unknown, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (1, b"")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        for line in (unknown, b"a dog\n"):
            process.stdin.write(line)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["text"] == line.decode().strip()


def test_other_encodings_of_a_slow_pipe(trained_once):
    flags = [f"--output_dir={trained_once[0]}", "--input_file=-", "--encoding=utf-16", "--allow_unknown"]
    command = [sys.executable, "-m", run_classifier.__name__, *flags]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdin.write(b"\xff\xfe")
        for text in ("der große Hund", "a dog"):
            process.stdin.write(f"{text}\n".encode("utf-16-le"))
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["text"] == text


@pytest.mark.parametrize("main", [run_classifier.main, run_tagging.main, run_squad.main, fill_mask.main])
def test_line_buffered_needs_an_input_file(main, capfd):
    texts = {run_squad.main: ["--question=a", "--context=b"], fill_mask.main: ["a [MASK]"]}.get(main, ["--text=a"])
    assert main([*texts, "--line_buffered"]) == 1
    assert "--line_buffered" in capfd.readouterr().err
