"""Commands that read one text per line: tables are read or refused, in any encoding."""

import json

import numpy as np
import pandas as pd
import pytest

from bert_cli import extract_features, fill_mask, tokenize_text
from tests.commands import helpers

COMMANDS = {
    "bert-extract-features": (extract_features.main, ["--output_file=-", "--engine=onnxruntime"]),
    "bert-fill-mask": (fill_mask.main, []),
    "bert-tokenize": (tokenize_text.main, []),
}


@pytest.mark.parametrize("command", ["bert-fill-mask", "bert-tokenize"])
def test_a_table_is_refused(command, capfd, tmp_path):
    main, flags = COMMANDS[command]
    (tmp_path / "new.csv").write_text("text,label\na dog,1\n", encoding="utf-8")
    outcome = helpers.call(capfd, command, main, f"--input_file={tmp_path / 'new.csv'}", *flags)
    outcome.assert_refused("new.csv: ")


@pytest.mark.parametrize("command", ["bert-extract-features", "bert-tokenize"])
def test_texts_in_another_encoding(command, capfd, tmp_path):
    main, flags = COMMANDS[command]
    results = []
    for encoding in ("utf-8", "utf-16"):
        path = tmp_path / f"{encoding}.txt"
        path.write_bytes("a dog\nder größte ||| Hund".encode(encoding))
        outcome = helpers.call(capfd, command, main, f"--input_file={path}", f"--encoding={encoding}", *flags)
        assert outcome.code == 0, outcome.err
        results.append(outcome.out)
    assert results[0] == results[1] != ""


def test_vectors_of_a_workbook_have_its_ids(capfd, tmp_path):
    pd.DataFrame({"id": ["r7", "r8"], "text": ["a dog", "a cat"]}).to_excel(tmp_path / "new.xlsx", index=False)
    (tmp_path / "new.txt").write_text("a dog\na cat\n")
    main, flags = COMMANDS["bert-extract-features"]
    lines = []
    for name in ("new.xlsx", "new.txt"):
        outcome = helpers.call(
            capfd, "bert-extract-features", main, f"--input_file={tmp_path / name}", "--pooling=mean", *flags
        )
        assert outcome.code == 0, outcome.err
        lines.append([json.loads(line) for line in outcome.out.splitlines()])
    ids = [row.pop("id") for row in lines[0]]
    assert (ids, lines[0]) == (["r7", "r8"], lines[1])


@pytest.mark.parametrize("output_format", ["npz", "parquet"])
def test_ids_in_files_of_arrays(output_format, capfd, tmp_path):
    (tmp_path / "new.csv").write_text("id,text\nr7,a dog\nr8,a cat\n")
    path = tmp_path / f"vectors.{output_format}"
    flags = [f"--output_file={path}", f"--output_format={output_format}", "--pooling=mean", "--engine=onnxruntime"]
    main, _ = COMMANDS["bert-extract-features"]
    outcome = helpers.call(capfd, "bert-extract-features", main, f"--input_file={tmp_path / 'new.csv'}", *flags)
    assert outcome.code == 0, outcome.err
    ids = np.load(path)["ids"] if output_format == "npz" else pd.read_parquet(path)["id"]
    assert list(ids) == ["r7", "r8"]


def test_flags_about_tables_need_a_table(capfd, tmp_path):
    (tmp_path / "new.txt").write_text("a dog\n")
    main, flags = COMMANDS["bert-extract-features"]
    command = [f"--input_file={tmp_path / 'new.txt'}", "--text_column=text", *flags]
    outcome = helpers.call(capfd, "bert-extract-features", main, *command)
    outcome.assert_refused("--text_column")
