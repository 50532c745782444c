"""Lines in eval_results.txt."""

import numpy as np

from bert_cli.outputs.eval_results import format_eval_results, write_eval_results

RESULTS = {"global_step": 9, "eval_accuracy": np.float32(0.75)}


def test_the_file_is_sorted_by_name(tmp_path):
    write_eval_results(str(tmp_path / "a.txt"), RESULTS)
    assert (tmp_path / "a.txt").read_text() == "eval_accuracy = 0.75\nglobal_step = 9\n"


def test_the_log_has_the_title_of_the_original():
    assert format_eval_results(RESULTS) == ["***** Eval results *****", "  eval_accuracy = 0.75", "  global_step = 9"]
