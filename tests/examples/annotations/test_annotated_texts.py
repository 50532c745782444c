"""Records for texts with spans."""

import pytest

from bert_cli.examples.annotations.annotated_texts import AnnotatedText, UnlabeledSpan, warn_about_unlabeled
from bert_cli.text.offset_units import CODE_POINTS, UNITS, OffsetUnit
from tests.snapshots import check_message

CR_LF_IS_ONE: OffsetUnit = next(unit for unit in UNITS if str(unit) == "with each line end CR LF as one character")


@pytest.mark.parametrize(("unit", "start"), [(CODE_POINTS, 5), (CR_LF_IS_ONE, 4)])
def test_annotations_without_a_label_are_described(unit, start, caplog):
    spans = (UnlabeledSpan("a.json:1", start, start + 4), UnlabeledSpan("a.json:2", None, "9"))
    warn_about_unlabeled("a.json", [AnnotatedText("met\r\nAnna", [], 1, "a.json:1", unlabeled=spans)], unit)
    check_message(caplog)
