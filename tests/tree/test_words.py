"""Words that must not return, on small trees."""

from tests.tree.words import long_lines, old_words


def test_old_words_are_found_in_texts_and_names(write_tree):
    text = "\nIt is told here, so many stand\nbeside those of Anna.\n"
    found_words = [message.split(": ")[:2] for message in old_words(write_tree({"bert_cli/text/a.py": text}))]
    assert found_words == [
        ["bert_cli/text/a.py:2", "'is told'"], ["bert_cli/text/a.py:2", "'so many'"], ["bert_cli/text/a.py:2", "'stand'"],
        ["bert_cli/text/a.py:3", "'beside'"], ["bert_cli/text/a.py:3", "'those of'"],
    ]  # fmt: skip
    text = "an outstanding standard that offers more, besides the understanding"
    assert list(old_words(write_tree({"bert_cli/text/a.py": text, "README.md": text}))) == []


def test_few_lines_may_be_long(write_tree):
    long, short = "x" * 101, "x" * 100
    text = "\n".join([long] + [short] * 20)
    assert list(long_lines(write_tree({"bert_cli/text/a.py": text}))) == []
    (message,) = long_lines(write_tree({"bert_cli/text/a.py": "\n".join([short, long])}))
    assert message.startswith("bert_cli/text/a.py:2: longer than 100 columns")
