"""Windows over a document, and their owned pieces: by hand, and by the original's rule."""

from hypothesis import given
from hypothesis import strategies as st

from bert_cli.features.packing import DocSpan, doc_spans


def test_windows_by_hand():
    assert doc_spans(0, 4, 2) == ()
    assert doc_spans(3, 4, 2) == (DocSpan(0, 3, 0, 3),)
    assert doc_spans(6, 4, 2) == (DocSpan(0, 4, 0, 3), DocSpan(2, 6, 3, 6))


@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 12))
def test_window_with_most_context_owns_each_piece(pieces, budget, stride):
    spans = doc_spans(pieces, budget, stride)
    assert spans[-1].end == pieces

    def context(span, piece):
        return min(piece - span.start, span.end - piece - 1) + 0.01 * (span.end - span.start)

    for piece in range(pieces):
        inside = [span for span in spans if span.start <= piece < span.end]
        best = max(inside, key=lambda span: context(span, piece))  # max returns the first of equal values
        assert [span for span in spans if span.owned_start <= piece < span.owned_end] == [best]
