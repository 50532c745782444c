"""Tags and entities as items, columns and rows."""

from bert_cli.api.inputs.texts import read_texts_argument
from bert_cli.api.results.tags import TaggedText, TaggedTexts

ANN = {"type": "PER", "text": "Ann", "start": 0, "end": 3, "score": 0.5}
ITEMS = [TaggedText("Ann sings", ("Ann", "sings"), ("B-PER", "O"), [ANN]), TaggedText("Rain", ("Rain",), ("O",), [])]


def test_entities_are_rows():
    tagged = TaggedTexts(read_texts_argument(["Ann sings", "Rain"]), ITEMS)
    assert tagged.tags == [("B-PER", "O"), ("O",)]
    assert tagged.entities == [[ANN], []]
    frame = tagged.to_frame()
    assert frame.to_dict("records") == [ANN]
    assert frame.index.tolist() == [0]
    assert list(tagged.columns()) == ["words", "tags", "entities"]
