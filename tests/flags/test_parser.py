"""Command lines: values that are read, and one-line errors."""

import dataclasses

import pytest

from bert_cli.base.errors import InputError
from bert_cli.flags.option import FlagGroup, group, option
from bert_cli.flags.parser import format_value, parse
from tests.flags.samples import Settings


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
    ("arguments", "message"),
    [
        (["--steps=0"], "--steps=0: "),
        (["--rate=1.5"], "--rate=1.5: "),
        (["--rate=nan"], "--rate=nan: a finite number is needed"),
        (["--rate=inf"], "--rate=inf: "),
        (["--steps=ten"], "a whole number is needed"),
        (["--steps=2.0"], "a whole number is needed"),
        (["--rate=fast"], "a number is needed"),
        (["--fast=perhaps"], "true or false is needed"),
        (["--gelu=exact"], "--gelu=exact: value should be one of <auto|erf>"),
        (["--labels=x"], "--labels=x: two or more different names with commas between are needed"),
        (["--labels=x,x"], "--labels=x,x: two or more different names"),
        (["--step=3"], "unknown flag --step; did you mean --steps?"),
        (["--input-file=x"], "unknown flag --input-file; did you mean --input_file?"),
        (["--nofsat"], "unknown flag --nofsat; did you mean --fast?"),
        (["--xyzzy"], "unknown flag --xyzzy; --helpfull lists all flags"),
        (["--seed=1"], "unknown flag --seed: the flag is --random_seed"),
        (
            ["--lr=1", "--bert_model", "-1", "--ster=2"],
            "unknown flags --lr (this command has no flag for it; leave it out),",
        ),
        (["--stpes=1", "--xyzzy", "a"], "unknown flags --stpes (did you mean --steps?), --xyzzy; --helpfull lists all"),
        (["--rate=0,5"], "--rate=0,5: a number is needed; numbers have a decimal point, not a comma: 0.5"),
        (["--steps=1,000"], "--steps=1,000: a whole number is needed; numbers have a decimal point, and no sign"),
        (["--input_file=~no-such-user/a.txt"], "--input_file=~no-such-user/a.txt: ~no-such-user is no home directory"),
        (["--input_file="], "--input_file= has no value (a variable that is not set?); leave the flag out"),
        (["--labels="], "--labels= has no value"),
        (["word"], "stray word 'word': every argument is a flag such as --name=value"),
        (["--input_file=my", "text.txt"], "stray word 'text.txt': every argument is a flag"),
        (["--fast", "false"], "stray word 'false': --fast is true by itself"),
        (["--flagfile=no/such.txt"], "no/such.txt: no such file; check --flagfile"),
        (["--flagfile"], "--flagfile= has no value"),
        (["--steps"], "Missing value for flag --steps"),
    ],
)
def test_errors_are_one_line(arguments, message):
    with pytest.raises(InputError) as error:
        parse(Settings, arguments)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


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
    with pytest.raises(InputError, match=r"flags\.txt:1: is not UTF-8"):
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
    with pytest.raises(InputError, match=r"^--text is given 2 times; several texts are lines of a file$"):
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
        with pytest.raises(InputError, match=r"^--text: is not UTF-8; give it in UTF-8, or in a file of another"):
            parse(QuestionSettings, [f"--text={text}"])
