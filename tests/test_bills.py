"""Licenses and edges in bills of materials."""

import re

from tests.bills import edges, licenses, lock_for


def test_licenses_are_an_expression_a_name_or_classifiers():
    assert licenses({"license_expression": "MIT", "license": "x"}) == [{"expression": "MIT"}]
    assert licenses({"license": "BSD"}) == [{"license": {"name": "BSD"}}]
    classifiers = ["License :: OSI Approved", "License :: OSI Approved :: MIT License", "Typing :: Typed"]
    text = "Permission is hereby granted\n" * 20
    assert licenses({"license": text, "classifier": classifiers}) == [{"license": {"name": "MIT License"}}]
    assert licenses({}) == []


def test_edges_follow_extras_and_markers():
    """An extra that a later requirement asks for adds edges to a package that was seen before."""
    required = {
        "a": ["b", "c; extra == 'more'", "d; sys_platform == 'win32'", "missing"],
        "b": ["a[more]"],
        "c": [],
        "d": [],
    }
    assert edges(["A>=1"], required) == {"": {"a"}, "a": {"b", "c"}, "b": {"a"}}


def test_each_python_has_one_version_of_a_package():
    for python in ("3.11", "3.13"):
        text = lock_for("gpu", python)
        assert len(re.findall(r"^numpy==", text, re.MULTILINE)) == 1
        assert " ; " not in text
