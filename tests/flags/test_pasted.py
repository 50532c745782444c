"""Command lines that were copied from web pages and documents."""

import time

import pytest

from bert_cli import run_classifier
from bert_cli.base.errors import InputError
from bert_cli.flags.option import every_flag
from bert_cli.flags.pasted import refuse_pasted, without_carriage_returns
from bert_cli.settings.classification import ClassifySettings

FLAGS = {flag.name: flag for flag in every_flag(ClassifySettings)}


@pytest.mark.parametrize(
    ("arguments", "cause", "command"),
    [
        (
            ["--do_train", "--init_checkpoint=m/bert_model.ckpt--max_seq_length=128"],
            "--init_checkpoint=m/bert_model.ckpt--max_seq_length=128: a space is missing",
            "--do_train --init_checkpoint=m/bert_model.ckpt --max_seq_length=128",
        ),
        (["--do_train--nodo_eval"], "--do_train--nodo_eval: a space is missing", "--do_train --nodo_eval"),
        (["--do_train\u00a0--do_eval"], "a space is missing", "--do_train --do_eval"),
        (["–do_train=true"], "–do_train=true: a dash is used where two hyphens belong", "--do_train=true"),
        (["—task_name", "cola"], "—task_name: a dash", "--task_name cola"),
        (["-–do_eval"], "-–do_eval: a dash", "--do_eval"),
        (["--data_dir=“my", "data”"], "--data_dir=“my: the quotes are typographic", "'--data_dir=my data'"),
        (["--text", "“a", "small", "dog”"], "“a: the quotes are typographic", "--text 'a small dog'"),
        (["--task_name=‘cola’"], "--task_name=‘cola’: the quotes are typographic", "--task_name=cola"),
        (["--data_dir=„data“"], "the quotes are typographic", "--data_dir=data"),
        (
            [" --do_eval"],
            "' --do_eval': a space belongs to the argument, as where a line ends in '\\ ' instead of '\\'",
            "--do_eval",
        ),
        (["--do_eval", " ", "\n"], "' ': a space belongs to the argument", "--do_eval"),
        (["\\", "--do_eval"], "\\: a space belongs to the argument", "--do_eval"),
        (["--data_dir=d --do_eval"], "--data_dir=d --do_eval: a space belongs", "--data_dir=d --do_eval"),
        (["--data_dir=my data ", "--do_eval"], "'--data_dir=my data ': a space", "'--data_dir=my data' --do_eval"),
        ([" --text= a"], "' --text= a': a space belongs to the argument", "'--text= a'"),
        (["\u00a0--do_eval"], "'\\xa0--do_eval': a space that no shell takes for one", "--do_eval"),
        (["--data_dir=d\u00a0", "\u00a0"], "'--data_dir=d\\xa0': a space that no shell", "--data_dir=d"),
        (["--do_\u200beval"], "'--do_\\u200beval': a space that no shell takes for one, or a character", "--do_eval"),
        (["--data_dir", "=", "d"], "--data_dir: spaces are around the =", "--data_dir=d"),
        (["--data_dir=", "d"], "--data_dir=: spaces are around the =", "--data_dir=d"),
        (["--data_dir", "=d"], "--data_dir: spaces are around the =", "--data_dir=d"),
        (["--do_train", "=", "true"], "--do_train: spaces are around the =", "--do_train=true"),
        (
            ["--learning_rate=2e−5"],
            "--learning_rate=2e−5: a dash is used where a hyphen belongs",
            "--learning_rate=2e-5",
        ),
        (["--learning_rate", "2e–5"], "2e–5: a dash is used where a hyphen belongs", "--learning_rate 2e-5"),
        (
            ["–do_train", "--data_dir=“d”--max_seq_length=8"],
            "–do_train: a dash is used where two hyphens belong; --data_dir=“d”--max_seq_length=8: a space is missing; "
            "--data_dir=“d”: the quotes are typographic",
            "--do_train --data_dir=d --max_seq_length=8",
        ),
    ],
)
def test_the_error_shows_cause_and_fixed_command(arguments, cause, command):
    with pytest.raises(InputError) as caught:
        refuse_pasted("bert-classify", arguments, FLAGS)
    assert str(caught.value).startswith(cause) or f": {cause}" in str(caught.value)
    assert str(caught.value).endswith(f"; the command is: bert-classify {command}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--do_train", "--data_dir=my--data", "--output_dir=runs/a-b"],
        ["--text=“so” he said--max_seq_length=3 is a flag"],
        ["--text=“so”"],
        ["--text", "“so”"],
        ["--text", "–dogs", "--text_b=— and cats"],
        ["--input_file=-", "--output_file", "-"],
        ["--learning_rate=-1", "--data_dir=“"],
        ["--text= a\u00a0b\u200d ", "--text_b", "=", "--label_separator= ", "--data_dir=my data"],
        ["--text=a --do_train", "--text", "5–6"],
    ],
)
def test_correct_commands_are_accepted(arguments):
    refuse_pasted("bert-classify", arguments, FLAGS)


def test_a_command_prints_the_error_in_one_line(capsys):
    assert run_classifier.main(["–do_eval", "--no_such_flag"]) == 1
    assert capsys.readouterr().err == (
        "bert-classify: error: –do_eval: a dash is used where two hyphens belong; the command is: "
        "bert-classify --do_eval --no_such_flag\n"
    )


def test_many_words_take_linear_time():
    words = ["“a"] * 20_000
    started = time.process_time()
    refuse_pasted("bert-tokenize", [*words, "--do_train"], FLAGS)
    assert time.process_time() - started < 5  # quadratic time took 50 s


def test_carriage_returns_from_a_windows_script(capsys):
    assert without_carriage_returns(["--text", "a dog\r", "--do_eval\r"]) == ["--text", "a dog", "--do_eval"]
    assert run_classifier.main(["--version\r"]) == 0
    assert capsys.readouterr().out.startswith("bert-classify ")
    assert run_classifier.main(["--do_train", "\r"]) == 1
    assert "bert-classify: error: the command ends in a backslash and a carriage return" in capsys.readouterr().err
