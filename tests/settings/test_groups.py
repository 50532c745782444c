"""Values that flags in shared groups accept."""

from bert_cli.base.errors import InputError
from bert_cli.settings.groups import Inference, NewText, read_shard, read_threshold
from tests.snapshots import raises


def test_shards():
    assert read_shard("2/4") == (2, 4)
    assert read_shard("all") == (0, 1)
    for text in ("4/4", "-1/4", "1", "1/", " 1/4", "1_0/20"):
        with raises(InputError, "--shard="):
            read_shard(text)


def test_thresholds():
    assert [read_threshold(text) for text in ("tuned", "0", "0.25")] == ["tuned", "0", "0.25"]
    for text in ("1.5", "nan", "half"):
        with raises(InputError, f"--threshold={text}: "):
            read_threshold(text)
    assert Inference().is_default_threshold
    assert not Inference(threshold="0.6").is_default_threshold


def test_the_text_to_explain_may_be_the_text_to_classify():
    assert NewText(explain="b").text_to_explain == "b"
    assert NewText(text="a", explain="--text").text_to_explain == "a"
