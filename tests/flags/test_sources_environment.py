"""Environment variables of a command with a prefix, and their order of precedence."""

import dataclasses
import json
from typing import ClassVar

import pytest

from bert_cli import serve
from bert_cli.base.errors import InputError
from bert_cli.base.log import TEXT, set_log_format
from bert_cli.flags.help import full_help_text, help_text
from bert_cli.flags.option import FlagGroup, every_flag, group, option
from bert_cli.flags.parser import parse
from bert_cli.flags.sources import name_variable
from bert_cli.settings.serving import ServeSettings
from tests.flags import samples
from tests.snapshots import raises


class Names(FlagGroup, heading="Names"):
    name: tuple[str, ...] = option((), "a name", read=lambda text: tuple(text.split("\n")), repeated=True)
    title: str = option("", "a title", repeat_advice="one is enough")


@dataclasses.dataclass(frozen=True)
class Settings(samples.Settings):
    environment_prefix: ClassVar[str] = "SAMPLE_"
    names: Names = group(Names)


def test_flag_before_variable_before_flagfile_before_default(tmp_path, monkeypatch):
    flagfile = tmp_path / "flags.txt"
    flagfile.write_text("--steps=1\n--rate\n0.1\n--name=file\n--title=file\n--nofast\n", encoding="utf-8")
    monkeypatch.setenv("SAMPLE_STEPS", "2")
    monkeypatch.setenv("SAMPLE_RATE", "0.2")
    monkeypatch.setenv("SAMPLE_NAME", "variable\nsecond")
    monkeypatch.setenv("SAMPLE_TITLE", "variable")
    values, given_names = parse(Settings, [f"--flagfile={flagfile}", "--steps", "3"])
    expected = {"steps": 3, "rate": 0.2, "name": ("variable", "second"), "title": "variable", "fast": False}
    assert {name: values[name] for name in expected} == expected
    assert (values["gelu"], given_names) == ("auto", frozenset(expected))
    assert parse(Settings, ["--name=flag", "--title=flag", "--fast"])[0]["name"] == ("flag",)


@pytest.mark.parametrize(("value", "expected"), [("true", True), ("false", False), ("0", False), ("1", True)])
def test_switches(value, expected, monkeypatch):
    monkeypatch.setenv("SAMPLE_FAST", value)
    assert parse(Settings, [])[0]["fast"] is expected
    assert parse(Settings, ["--nofast"])[0]["fast"] is False


@pytest.mark.parametrize(
    ("variable", "value", "fragment"),
    [
        ("STEPS", "many", "SAMPLE_STEPS: "),
        ("STEPS", "0", "SAMPLE_STEPS: "),
        ("RATE", "nan", "SAMPLE_RATE: "),
        ("GELU", "none", "SAMPLE_GELU: "),
        ("FAST", "perhaps", "SAMPLE_FAST: "),
        ("LABELS", "a", "SAMPLE_LABELS: "),
        ("INPUT_FILE", "", "--input_file"),
    ],
)
def test_errors_name_the_variable(variable, value, fragment, monkeypatch):
    monkeypatch.setenv(f"SAMPLE_{variable}", value)
    with raises(InputError, fragment):
        parse(Settings, [])


def test_later_errors_name_the_variable(monkeypatch):
    flags = {flag.name: flag for flag in every_flag(Settings)}
    monkeypatch.setenv("SAMPLE_STEPS", "7")
    message = "--steps=7: too many"
    assert name_variable(message, [], flags, "SAMPLE_") == f"SAMPLE_STEPS: {message}"
    assert name_variable(message, ["--steps=7"], flags, "SAMPLE_") == message
    assert name_variable(message, [], flags, "") == message
    assert name_variable("--rate=2: too large", [], flags, "SAMPLE_") == "--rate=2: too large"


def test_values_that_may_be_empty_and_values_with_signs(monkeypatch):
    monkeypatch.setenv("SAMPLE_TPU_NAME", "")
    monkeypatch.setenv("SAMPLE_TITLE", "--a = b, 'c'")
    values, _ = parse(Settings, [])
    assert (values["tpu_name"], values["title"]) == ("", "--a = b, 'c'")


def test_variables_of_kubernetes_services_are_ignored(monkeypatch, caplog):
    """Kubernetes sets these in each pod, for a Service called bert-serve and one called bert-serve-old."""
    for name in ("BERT_SERVE", "BERT_SERVE_OLD"):
        for suffix, value in (
            ("PORT", "tcp://10.0.0.1:80"),
            ("SERVICE_HOST", "10.0.0.1"),
            ("SERVICE_PORT", "80"),
            ("SERVICE_PORT_HTTP", "80"),
            ("PORT_80_TCP", "tcp://10.0.0.1:80"),
            ("PORT_80_TCP_PROTO", "tcp"),
            ("PORT_80_TCP_PORT", "80"),
            ("PORT_80_TCP_ADDR", "10.0.0.1"),
        ):
            monkeypatch.setenv(f"{name}_{suffix}", value)
    monkeypatch.setattr("bert_cli.base.log.LOG.propagate", True)
    values, given_names = parse(ServeSettings, [])
    assert (values["port"], given_names, caplog.messages) == (8000, frozenset(), [])


def test_an_unknown_variable_is_a_warning(monkeypatch, caplog):
    monkeypatch.setenv("BERT_SERVE_API_KEYS_FILE", "keys.txt")
    monkeypatch.setattr("bert_cli.base.log.LOG.propagate", True)
    parse(ServeSettings, [])
    expected = "warning: BERT_SERVE_API_KEYS_FILE sets no flag; did you mean BERT_SERVE_API_KEY_FILE?"
    # A command that ran before may give the record to two handlers.
    assert set(caplog.messages) == {expected}


def test_the_log_format_of_a_variable_applies_to_errors_too(monkeypatch, capfd):
    monkeypatch.setenv("BERT_SERVE_LOG_FORMAT", "json")
    monkeypatch.setenv("BERT_SERVE_PORT", "many")
    assert serve.main([]) == 1
    record = json.loads(capfd.readouterr().err)
    assert "BERT_SERVE_PORT: --port=many: a whole number is needed" in record["message"]
    set_log_format(TEXT, "bert-serve")


def test_help_describes_variables():
    for make_text in (help_text, full_help_text):
        assert "SAMPLE_STEPS sets --steps." in make_text(Settings, "sample", "Do it.")
        assert "variable" not in make_text(samples.Settings, "sample", "Do it.")


def test_every_flag_of_bert_serve_has_a_variable(monkeypatch):
    monkeypatch.setenv("BERT_SERVE_PORT", "9000")
    monkeypatch.setenv("BERT_SERVE_MODEL", "a=x\nb=y")
    monkeypatch.setenv("BERT_SERVE_ALLOWED_ORIGINS", "https://a.example,https://b.example")
    monkeypatch.setenv("BERT_SERVE_PRECISION", "int8")
    values, _ = parse(ServeSettings, [])
    assert (values["port"], values["model"], values["precision"]) == (9000, (("a", "x"), ("b", "y")), "int8")
    assert values["allowed_origins"] == ("https://a.example", "https://b.example")
    assert parse(ServeSettings, ["--port=1", "--model=c=z"])[0]["model"] == (("c", "z"),)
