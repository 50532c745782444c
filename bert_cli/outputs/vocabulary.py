"""What bert-build-vocab says of its work: a table of figures."""

from collections.abc import Mapping

from bert_cli.outputs.text_table import text_table


def format_table(report: Mapping) -> list[str]:
    """The figures of a run as lines of a table; where a vocabulary was extended, those of the old one stand beside."""
    return text_table(_rows(report))


def _rows(report: Mapping) -> list[tuple[str, str, str]]:
    before = report.get("before")

    def was(text: str) -> str:
        return f"{text} before" if before else ""

    return [
        ("words", f"{report['words']:,}", ""),
        ("distinct words", f"{report['distinct_words']:,}", ""),
        ("vocabulary", f"{report['vocab_size']:,}", was(f"{before['vocab_size']:,}") if before else ""),
        ("pieces/word", f"{report['pieces_per_word']:.3f}", was(f"{before['pieces_per_word']:.3f}") if before else ""),
        ("unknown words", f"{report['unknown_share']:.3%}", was(f"{before['unknown_share']:.3%}") if before else ""),
        ("seconds", f"{report['total_seconds']:.1f}", f"{report['reading_seconds']:.1f} of them for reading"),
    ]
