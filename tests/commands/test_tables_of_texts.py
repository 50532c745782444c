"""Commands that read a text a line refuse a file whose name says that it is a table, and take its encoding."""

import pytest

from bert_cli import extract_features, fill_mask, run_tagging, tokenize_text
from tests.commands import helpers

COMMANDS = {
    "bert-tag": (run_tagging.main, []),
    "bert-extract-features": (extract_features.main, ["--output_file=-"]),
    "bert-fill-mask": (fill_mask.main, []),
    "bert-tokenize": (tokenize_text.main, []),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_table_is_refused(command, capfd, tmp_path):
    main, flags = COMMANDS[command]
    (tmp_path / "new.csv").write_text("text,label\na dog,1\n", encoding="utf-8")
    outcome = helpers.call(capfd, command, main, f"--input_file={tmp_path / 'new.csv'}", *flags)
    outcome.assert_refused("new.csv: is a table by its name, and one text per line is needed")


@pytest.mark.parametrize("command", ["bert-extract-features", "bert-tokenize"])
def test_texts_in_another_encoding(command, capfd, tmp_path):
    main, flags = COMMANDS[command]
    found = []
    for encoding in ("utf-8", "utf-16"):
        path = tmp_path / f"{encoding}.txt"
        path.write_bytes("a dog\nder größte ||| Hund".encode(encoding))
        outcome = helpers.call(capfd, command, main, f"--input_file={path}", f"--encoding={encoding}", *flags)
        assert outcome.code == 0, outcome.err
        found.append(outcome.out)
    assert found[0] == found[1] != ""
