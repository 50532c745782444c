"""Flag files in the forms that editors and shells produce."""

import logging

import pytest

from bert_cli.base.errors import InputError
from bert_cli.flags.option import every_flag
from bert_cli.flags.sources import Argument, read_flagfiles
from bert_cli.settings.classification import ClassifySettings
from tests.snapshots import check_message, raises

FLAGS = {flag.name: flag for flag in every_flag(ClassifySettings)}


def read(tmp_path, text):
    """Return the arguments in a flag file with this text."""
    path = tmp_path / "f.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [argument.text for argument in read_flagfiles([f"--flagfile={path}"], FLAGS)]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (b"\xef\xbb\xbf--train_file=t.csv\r\n--do_train\r\n", ["--train_file=t.csv", "--do_train"]),
        ("# a remark\n// another\n\n  --do_train  \n", ["--do_train"]),
        ("--train_file\nt.csv\n", ["--train_file", "t.csv"]),
        ("--train_file t.csv\n--num_train_epochs = 2\n", ["--train_file=t.csv", "--num_train_epochs=2"]),
        ("--data_dir=my data\n--learning_rate= 2e-5\n", ["--data_dir=my data", "--learning_rate=2e-5"]),
        ("--train_file=t.csv \\\n--do_train\\\n\\\n", ["--train_file=t.csv", "--do_train"]),
        ("--do_train ^\n--do_eval `\n--data_dir=C:\\data\\\n", ["--do_train", "--do_eval", "--data_dir=C:\\data\\"]),
        ("--train_file=\"t.csv\"\n--learning_rate='2e-5'\n", ["--train_file=t.csv", "--learning_rate=2e-5"]),
        ("\"--train_file=my t.csv\"\n'--do_train'\n", ["--train_file=my t.csv", "--do_train"]),
        # Names with commas and columns without a name, as flags.txt stores them.
        ('--text_column=""\n--label_column="a, b",c\n', ['--text_column=""', '--label_column="a, b",c']),
        ('--labels="a, b",c # d,e --f\n', ['--labels="a, b",c # d,e --f']),
        ("--text=so --called # words\n--label_separator= ; \n", ["--text=so --called # words", "--label_separator= ;"]),
    ],
)
def test_accepted_forms(tmp_path, text, arguments):
    assert read(tmp_path, text) == arguments


@pytest.mark.parametrize(
    "line",
    [
        "--train_file=t.csv --do_train --output_dir=out",
        "--do_train --nodo_eval",
        "--text=a dog --do_eval",
        "--max_seq_length=8 --foo=3",
        "--learning_rate=2e-5  # the rate",
        "--output_dir=out # of today",
        '--train_file="t.csv',
        '"--do_train',
    ],
)
def test_refused_forms_are_reported_with_their_line(tmp_path, line):
    with pytest.raises(InputError, match=r"f\.txt:2: ") as caught:
        read(tmp_path, f"--do_eval\n{line}\n")
    check_message(caught)


def test_the_log_reports_removed_characters(tmp_path, caplog):
    with caplog.at_level(logging.INFO, logger="bert_cli"):
        read(tmp_path, '--train_file="t.csv" \\\n--do_train \\\n--text="a dog"\n')
    check_message(caplog)


def test_flag_files_may_be_nested(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "inner.txt").write_text("--do_train\n", encoding="utf-8")
    (tmp_path / "outer.txt").write_text("--flagfile=~/inner.txt\n--do_eval\n", encoding="utf-8")
    assert read_flagfiles(["--flagfile", "~/outer.txt", "--", "--flagfile=x"], FLAGS) == [
        Argument("--do_train", f"{tmp_path}/inner.txt:1"),
        Argument("--do_eval", f"{tmp_path}/outer.txt:2"),
        Argument("--"),
        Argument("--flagfile=x"),
    ]
    (tmp_path / "inner.txt").write_text("\n--flagfile=~/outer.txt\n", encoding="utf-8")
    with raises(InputError, "inner.txt:2: "):
        read_flagfiles(["--flagfile=~/outer.txt"], FLAGS)


def test_a_file_that_is_a_directory_or_no_text(tmp_path):
    with raises(InputError, "--flagfile"):
        read_flagfiles([f"--flagfile={tmp_path}"], FLAGS)
    with raises(InputError, "f.txt:1: "):
        read(tmp_path, "--do_train".encode("utf-16"))
