"""Bytes of files for the GLUE leaderboard."""

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.outputs.classification import write_glue_submission
from tests.snapshots import raises


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("CoLA", ["1", "0"]),
        ("MNLI-mm", ["neutral", "contradiction"]),
        ("RTE", ["entailment", "not_entailment"]),
        ("AX", ["entailment", "neutral"]),
    ],
)
def test_labels(tmp_path, name, labels):
    write_glue_submission(str(tmp_path / f"{name}.tsv"), ["0", "1"], labels)
    assert (tmp_path / f"{name}.tsv").read_bytes() == f"index\tprediction\n0\t{labels[0]}\n1\t{labels[1]}\n".encode()


def test_scores_are_clipped_to_their_range(tmp_path):
    values = np.array([3.14159, -0.2, 5.4, 4.9996], np.float32)
    write_glue_submission(str(tmp_path / "STS-B.tsv"), ["0", "1", "2", "30"], values)
    assert (tmp_path / "STS-B.tsv").read_bytes() == b"index\tprediction\n0\t3.142\n1\t0.000\n2\t5.000\n30\t5.000\n"


@pytest.mark.parametrize("ids", [["0", "test-1"], ["0", ""], ["7", "7"]])
def test_ids_that_the_leaderboard_refuses(tmp_path, ids):
    with raises(InputError, "--glue_submission: "):
        write_glue_submission(str(tmp_path / "CoLA.tsv"), ids, ["0", "1"])
    assert not list(tmp_path.iterdir())
