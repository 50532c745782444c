"""Values of the flags of bert-serve."""

from bert_cli.settings.serving import read_models


def test_home_directories_of_served_models(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    assert read_models("a=~/a\nb=b/~") == (("a", "/home/someone/a"), ("b", "b/~"))
