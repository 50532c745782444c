"""Word pieces as a table, as a picture, and after copies."""

import copy
import pickle

from bert_cli.api.results.pieces import Pieces
from bert_cli.text.offsets import Piece

PIECES = Pieces("Zürich <b>", [Piece("zu", 7, 0, 2), Piece("##rich", 8, 2, 6), Piece("[UNK]", 1, 7, 10)])


def test_table_and_picture():
    assert PIECES.to_frame().values.tolist() == [
        ["zu", 7, 0, 2, "Zü"], ["##rich", 8, 2, 6, "rich"], ["[UNK]", 1, 7, 10, "<b>"],
    ]  # fmt: skip
    assert repr(PIECES) == "Pieces: zu ##rich [UNK]"
    picture = PIECES._repr_html_()
    assert 'title="1: &lt;b&gt;">[UNK]</span>' in picture
    assert "<b>" not in picture


def test_copies_keep_the_text():
    for copied in (copy.copy(PIECES), copy.deepcopy(PIECES), pickle.loads(pickle.dumps(PIECES))):
        assert (copied, copied.text) == (PIECES, "Zürich <b>")
