"""Command lines: values that are read, and one-line errors."""

import dataclasses

import pytest

from bert_cli.base.errors import InputError
from bert_cli.flags.option import FlagGroup, group, option
from bert_cli.flags.parser import parse
from bert_cli.flags.values import format_value
from tests.flags.samples import Settings
from tests.snapshots import raises


class Words(FlagGroup, heading="Texts"):
    texts: tuple[str, ...] = option((), "texts, each in quotes", words=True)
    top_k: int = option(5, "candidates", lower=1)


@dataclasses.dataclass(frozen=True)
class WordSettings:
    words: Words = group(Words)


class Questions(FlagGroup, heading="Questions"):
    text: str = option("", "a text", repeat_advice="several texts are lines of a file")
    explain: str = option("", "a text to explain", implicit_value="all")
    fast: bool = option(False, "hurry")


@dataclasses.dataclass(frozen=True)
class QuestionSettings:
    questions: Questions = group(Questions)


DEFAULTS = {
    "input_file": "",
    "tpu_name": None,
    "labels": None,
    "rate": 0.5,
    "steps": 20,
    "gelu": "auto",
    "fast": True,
    "do_lower_case": None,
    "random_seed": 3,
}


def test_values_and_names_of_given_flags():
    assert parse(Settings, []) == (DEFAULTS, frozenset())
    values, given_names = parse(
        Settings, ["--input_file=a b.txt", "--steps", "7", "--nofast", "--labels=x, y", "--rate=1", "--gelu=erf"]
    )
    expected = {"input_file": "a b.txt", "steps": 7, "fast": False, "labels": ("x", "y"), "rate": 1.0, "gelu": "erf"}
    assert values == DEFAULTS | expected
    assert given_names == set(expected)
    assert parse(Settings, ["--steps=20"]) == (DEFAULTS, {"steps"})
    assert parse(Settings, ["--do_lower_case", "--fast=false"])[0] == DEFAULTS | {"do_lower_case": True, "fast": False}
    assert parse(Settings, ["--tpu_name="])[0] == DEFAULTS | {"tpu_name": ""}


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["--steps=0"], "--steps=0: "),
        (["--rate=1.5"], "--rate=1.5: "),
        (["--rate=nan"], "--rate=nan: "),
        (["--rate=inf"], "--rate=inf: "),
        (["--steps=ten"], ""),
        (["--steps=2.0"], ""),
        (["--rate=fast"], ""),
        (["--fast=perhaps"], ""),
        (["--gelu=exact"], "--gelu=exact: "),
        (["--labels=x"], "--labels=x: "),
        (["--labels=x,x"], "--labels=x,x: "),
        (["--step=3"], "--step"),
        (["--input-file=x"], "--input"),
        (["--nofsat"], "--nofsat"),
        (["--xyzzy"], "--xyzzy"),
        (["--seed=1"], "--seed"),
        (["--lr=1", "--bert_model", "-1", "--ster=2"], "--lr"),
        (["--stpes=1", "--xyzzy", "a"], "--stpes"),
        (["--rate=0,5"], "--rate=0,5: "),
        (["--steps=1,000"], "--steps=1,000: "),
        (["--input_file=~no-such-user/a.txt"], "--input_file=~no-such-user/a.txt: "),
        (["--input_file="], "--input_file="),
        (["--labels="], "--labels="),
        (["word"], "--name=value"),
        (["--input_file=my", "text.txt"], "'text.txt'"),
        (["--fast", "false"], "--fast"),
        (["--flagfile=no/such.txt"], "no/such.txt: "),
        (["--flagfile"], "--flagfile="),
        (["--steps"], "--steps"),
    ],
)
def test_errors_are_one_line(arguments, fragment):
    with raises(InputError, fragment):
        parse(Settings, arguments)


def test_a_flag_file(tmp_path):
    path = tmp_path / "flags.txt"
    path.write_text("--steps=3\n# a remark\n--labels=x,y\n--nofast\n", encoding="utf-8")
    values, given_names = parse(Settings, [f"--flagfile={path}", "--steps=4"])
    assert values == DEFAULTS | {"steps": 4, "labels": ("x", "y"), "fast": False}
    assert given_names == {"steps", "labels", "fast"}
    # The command line wins, also before the file.
    after = parse(Settings, ["--steps", "4", "--fast", f"--flagfile={path}"])[0]
    assert after == DEFAULTS | {"steps": 4, "labels": ("x", "y"), "fast": True}
    path.write_bytes(b"--input_file=\xff\n")
    with raises(InputError, "flags.txt:1: "):
        parse(Settings, [f"--flagfile={path}"])


def test_a_home_directory_is_expanded_in_every_path(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    values, _ = parse(Settings, ["--input_file=~/a.txt,b~.txt,~/c.txt", "--tpu_name=~/a"])
    assert values["input_file"] == f"{tmp_path}/a.txt,b~.txt,{tmp_path}/c.txt"
    assert values["tpu_name"] == "~/a"  # not a path
    assert parse(Settings, ["--input_file", "~"])[0]["input_file"] == str(tmp_path)


def test_unknown_flags_that_undefok_names_are_ignored():
    assert parse(Settings, ["--undefok=xyzzy,other", "--xyzzy=1", "--noother", "--steps=3"])[1] == {"steps"}


def test_a_mistake_in_a_file_of_flags_has_its_line(tmp_path):
    path = tmp_path / "f.txt"
    for line, message in (("--steps=ten", "--steps=ten: a whole number"), ("word", "stray word"), ("--x=1", "unknown")):
        path.write_text(f"--nofast\n{line}\n", encoding="utf-8")
        with pytest.raises(InputError, match=f"f.txt:2: {message}"):
            parse(Settings, [f"--flagfile={path}"])


def test_words_may_be_anywhere():
    texts = ["the [MASK] .", "--top_k=2", " a [MASK]", "a ||| b"]
    assert parse(WordSettings, texts) == ({"texts": ("the [MASK] .", " a [MASK]", "a ||| b"), "top_k": 2}, {"top_k"})
    assert parse(WordSettings, []) == ({"texts": (), "top_k": 5}, frozenset())


@pytest.mark.parametrize(
    ("arguments", "text", "explain", "fast"),
    [
        (["--text", "a dog", "--explain"], "a dog", "all", False),
        (["--explain", "--text", "a dog"], "a dog", "all", False),
        (["--explain", "--text=a dog"], "a dog", "all", False),
        (["-explain", "--nofast"], "", "all", False),
        (["--explain", "--fast"], "", "all", True),
        (["--explain", "a dog"], "", "a dog", False),
        (["--explain=a dog", "--fast"], "", "a dog", True),
        (["--explain", "-5 degrees"], "", "-5 degrees", False),
        (["--explain", "- a dog"], "", "- a dog", False),
    ],
)
def test_a_text_flag_may_have_no_value(arguments, text, explain, fast):
    assert parse(QuestionSettings, arguments)[0] == {"text": text, "explain": explain, "fast": fast}


def test_a_flag_that_may_be_given_once():
    with raises(InputError, "--text"):
        parse(QuestionSettings, ["--text", "a", "--text=b"])
    # For other flags the last value counts, as in Google's scripts.
    assert parse(QuestionSettings, ["--fast", "--nofast"])[0]["fast"] is False


def test_format_value():
    assert [format_value(value) for value in (True, False, 3, 0.5, 5e-05, "A b")] == [
        "true", "false", "3", "0.5", "5e-05", "A b",
    ]  # fmt: skip


def test_texts_from_a_plain_c_locale_are_decoded():
    """Python passes undecoded bytes as surrogates."""
    undecoded = "möchte".encode().decode("ascii", "surrogateescape")
    assert parse(QuestionSettings, [f"--text={undecoded}"])[0]["text"] == "möchte"
    latin = "möchte".encode("latin-1").decode("ascii", "surrogateescape")
    for text in (latin, "half \ud800"):
        with raises(InputError, "--text: "):
            parse(QuestionSettings, [f"--text={text}"])
