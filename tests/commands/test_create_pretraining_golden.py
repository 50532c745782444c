"""bert-create-pretraining-data gives the golden records (Google's and shipped) for the same flags."""

import json
import os

import pytest

from bert_cli.create_pretraining_data import main
from bert_cli.records.example_proto import decode_example
from bert_cli.records.tfrecord import read_records

SHARED = [("shared", name) for name in ("defaults", "whole_word_mask", "dupe3_len64", "short_seq", "mixed")]


def read(path: str) -> list[dict[str, list]]:
    records = map(decode_example, read_records(path))
    return [{name: values.tolist() for name, values in record.items()} for record in records]


@pytest.mark.parametrize(("home", "name"), [*SHARED, ("fixtures", "plain"), ("fixtures", "whole_word")])
def test_records_equal_the_golden_records(home, name, request, tmp_path, monkeypatch, capfd):
    golden = request.getfixturevalue(home) / "golden" / "pretraining_data"
    golden_flags = json.loads((golden / name / "flags.json").read_text(encoding="utf-8"))
    outputs = [str(tmp_path / output) for output in golden_flags["flags"]["output_file"].split(",")]
    monkeypatch.chdir(golden)
    assert main([*golden_flags["command_line"], f"--output_file={','.join(outputs)}"]) == 0
    stems = ["instances"] if len(outputs) == 1 else [f"instances_{number}" for number in range(len(outputs))]
    for stem, output in zip(stems, outputs, strict=True):
        expected = (golden / name / f"{stem}.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
        assert read(output) == [json.loads(line) for line in expected]
    assert capfd.readouterr().err.splitlines()[-1] == f"Wrote {golden_flags['instances']} total instances"
    assert sorted(os.listdir(tmp_path)) == sorted(os.path.basename(output) for output in outputs)
