"""Plots: matplotlib's SVG is reduced to safe content."""

import re
import xml.etree.ElementTree as ET

import pytest

from bert_cli.report.figures import MOST_POINTS, Line, evenly_spaced_values, line_card


def test_the_svg_is_reduced():
    series = [Line("<b>", [1, 2, 3], [0.5, 0.2, 0.1]), Line("other", [1, 3], [0.4, 0.3], points=True)]
    series.append(Line("ideal", [0, 1], [0, 1], dashed=True))
    figure = line_card("loss", "Loss", "The loss", series, ("step", "loss")).content
    root = ET.fromstring(figure["svg"])
    assert root.attrib["aria-label"] == "The loss"
    assert "width" not in root.attrib
    texts = {element.text for element in root.iter() if element.tag.endswith("text")}
    assert {"step", "loss"} <= texts
    assert figure["legend"] == ["<b>", "other"]
    assert "<b>" not in figure["svg"]  # the page contains the names, escaped
    assert {"var(--series-1)", "var(--series-2)", "var(--muted)", "var(--line)"} <= set(
        re.findall(r"var\(--[^)]+\)", figure["svg"])
    )
    assert not re.search(r"#a[12]000", figure["svg"])
    assert not {"<style", "<metadata", "<!--"} & set(re.findall(r"<style|<metadata|<!--", figure["svg"]))
    ids = re.findall(r'\bid="([^"]+)"', figure["svg"])
    used = re.findall(r'(?:href="#|url\(#)([^")]+)', figure["svg"])
    assert set(ids) == set(used)
    assert all(name.startswith("loss-") for name in ids)
    assert len(figure["svg"]) < 12_000


def test_axis_labels_are_not_rounded():
    figure = line_card("rate", "Rate", "t", [Line("a", [1, 2], [0.0002, 0.0008])], ("x", "rate")).content
    texts = {element.text for element in ET.fromstring(figure["svg"]).iter() if element.tag.endswith("text")}
    assert {"2e-04", "4e-04", "6e-04", "8e-04"} <= texts


@pytest.mark.parametrize(("label", "is_whole"), [("step", True), ("tokens", True), ("threshold", False)])
def test_axis_of_steps_has_whole_numbers(label, is_whole):
    figure = line_card("few", "Few", "t", [Line("a", [1, 2], [10.0, 20.0])], (label, "rate")).content
    texts = [element.text for element in ET.fromstring(figure["svg"]).iter() if element.tag.endswith("text")]
    numbers = [float(text) for text in texts if text not in (label, "rate")]
    assert {1.0, 2.0} <= set(numbers)
    assert all(number.is_integer() for number in numbers) == is_whole


def test_the_same_numbers_give_the_same_svg():
    points = [Line("a", [1, 2], [2, 1], scatter=True), Line("equal", [1, 2], [1, 2], dashed=True)]
    assert line_card("a", "A", "t", points, ("x", "y")) == line_card("a", "A", "t", points, ("x", "y"))
    bars = [Line("a", [0.5, 1.5], [3, 4], steps=True)]
    assert ET.fromstring(line_card("b", "B", "t", bars, ("x", "y"), mark=1.5).content["svg"]) is not None


def test_lines_of_many_points_are_thinned():
    points = evenly_spaced_values(range(10_000))
    assert len(points) == MOST_POINTS
    assert (points[0], points[-1]) == (0, 9999)
    assert evenly_spaced_values([1, 2]).tolist() == [1, 2]
