"""Flags that other programs imply, next to given ones."""

from bert_cli.flags.foreign.implied import implied_words

MASKED = ("--no_nsp", "--line_by_line", "--pack", "--max_seq_length=512", "--max_eval_steps=0")


def test_given_flags_win():
    assert implied_words(("--loss=cosine", "--do_train"), {"loss": "triplet"}) == ["--do_train"]
    ours = {"max_seq_length": "64", "do_eval": ""}
    assert implied_words(MASKED, ours) == ["--no_nsp", "--line_by_line", "--pack", "--max_eval_steps=0"]
    assert implied_words(MASKED, {"max_predictions_per_seq": "9"}) == list(MASKED[:4])


def test_lines_are_not_joined_if_each_is_a_sequence():
    assert implied_words(MASKED, {"line_by_line": "", "max_seq_length": "133"}) == ["--no_nsp"]


def test_masks_follow_length_and_share():
    """Use the default of 20 masks for at most 133 tokens, and leave invalid numbers to the parser."""
    assert implied_words(MASKED, {})[-1] == "--max_predictions_per_seq=77"
    assert implied_words(MASKED, {"max_seq_length": "134"})[-1] == "--max_predictions_per_seq=21"
    assert implied_words(MASKED, {"masked_lm_prob": "0.5"})[-1] == "--max_predictions_per_seq=256"
    for ours in ({"max_seq_length": "x"}, {"masked_lm_prob": "x"}, {"masked_lm_prob": "inf"}):
        assert not any("max_predictions" in word for word in implied_words(MASKED, ours))
