"""The processor's instruction sets."""

import builtins
import io

import pytest

from bert_cli.runtime.processor import processor_flags


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("processor : 0\nflags : fpu avx2\nprocessor : 1\nflags : fpu\n", {"flags", ":", "fpu", "avx2"}),
        ("Features\t: fp asimddp\n", {"Features", ":", "fp", "asimddp"}),
        ("processor : 0\n", set()),
    ],
)
def test_the_first_list_counts(monkeypatch, text, expected):
    monkeypatch.setattr(builtins, "open", lambda *arguments, **options: io.StringIO(text))
    assert processor_flags() == expected


def test_other_systems_have_no_list(monkeypatch):
    def refuse(*arguments, **options):
        raise FileNotFoundError

    monkeypatch.setattr(builtins, "open", refuse)
    assert processor_flags() == frozenset()
