"""Pages of handmade runs, parsed as HTML: all parts are there, and hostile texts are escaped."""

import html
import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.report.page import run_page, write_page
from bert_cli.report.run_files import read_run
from tests.report import folders
from tests.report.reader import Reader
from tests.snapshots import raises


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Return (HTML, Reader) by kind of run."""
    pages_by_type = {}
    for run_type, (make, _) in folders.KINDS.items():
        page = run_page(read_run(str(make(tmp_path_factory.mktemp("runs") / run_type))))
        pages_by_type[run_type] = page, Reader(page)
    return pages_by_type


@pytest.mark.parametrize("run_type", folders.KINDS)
def test_every_part_exists(pages, run_type):
    page, reader = pages[run_type]
    assert folders.ALWAYS_PRESENT | folders.KINDS[run_type][1] <= set(reader.ids)
    assert len(set(reader.ids)) == len(reader.ids)
    assert reader.open == []
    assert page.startswith("<!DOCTYPE html>")
    assert "1.50 GB" in reader.text
    assert "1 min 15 s" in reader.text


@pytest.mark.parametrize("run_type", folders.KINDS)
def test_no_scripts_and_no_external_content(pages, run_type):
    page, reader = pages[run_type]
    assert not reader.tags & {"script", "iframe", "object", "embed", "img", "base", "form"}
    assert reader.handlers == []
    assert all(link.startswith("#") or link == "data:," for link in reader.links)
    assert "@import" not in page
    assert "url(http" not in page
    assert "default-src 'none'" in page
    targets = {link[1:] for link in reader.links if link.startswith("#")}
    assert targets <= set(reader.ids)


@pytest.mark.parametrize("run_type", folders.KINDS)
def test_hostile_texts_are_escaped(pages, run_type):
    page, reader = pages[run_type]
    assert folders.SCRIPT in reader.text
    assert folders.SCRIPT not in page
    assert folders.LONG in reader.text
    assert folders.RIGHT_TO_LEFT in reader.text


def test_braces_in_a_text_are_not_a_template(pages):
    assert "{{ 7 * 7 }}" in pages["one_label"][1].text
    assert "$x^2$" in pages["one_label"][1].text


def test_a_page_is_small(pages):
    assert all(len(page.encode()) < 200_000 for page, _ in pages.values())


def test_the_best_step_is_shown(pages):
    """The history has its best accuracy, 0.9, at step 60."""
    assert "Best: 0.9000 after step 60." in pages["one_label"][1].text


def test_final_loss_and_peak_learning_rate_have_one_definition(pages):
    """They are not the history's last line, 0.1653 and 1.11e-05, nor its largest rate, 8.89e-05."""
    text = pages["one_label"][1].text
    assert "Final loss: 0.1625, the mean over the last tenth of the steps." in text
    assert "Peak of the schedule: 1e-04." in text


def test_a_long_context_is_cut_around_the_answer(tmp_path):
    folder = folders.squad(tmp_path / "run")
    path = folder / "eval_examples.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    context = "".join(f"word{n} " for n in range(300))
    first = context.index("word150")
    lines[1] |= {"context": context, "answer": [first, first + 7]}
    folders.write(folder, path.name, lines)
    text = Reader(run_page(read_run(str(folder)))).text
    assert "word149 word150 word151" in text
    assert [word in text for word in ("word110 ", "word120 ", "word180 ", "word190 ")] == [False, True, True, False]


def test_a_multiple_choice_run_suggests_no_texts(pages):
    text = pages["multiple_choice"][1].text
    assert "--do_predict --predict_file=FILE" in text
    assert not any(suggestion in text for suggestion in ("--text '", "--input_file", "bert-export"))
    assert "1: <script>" in text  # a choice with its index, as in predictions.tsv


def test_a_run_with_few_files_has_a_small_page(tmp_path):
    folder = folders.pretraining(tmp_path / "run")
    for name in ("run_report.json", "eval_results.txt", "history.jsonl", "flags.txt"):
        (folder / name).unlink()
    reader = Reader(run_page(read_run(str(folder))))
    assert {"card-commands", "card-settings", "card-model"} <= set(reader.ids)
    assert "card-loss" not in reader.ids


def test_a_missing_run_is_an_error(tmp_path):
    with raises(InputError):
        read_run(str(tmp_path))
    with pytest.raises(InputError, match="no such folder"):
        read_run(str(tmp_path / "none"))
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    with raises(InputError):
        read_run(str(tmp_path))


def test_a_damaged_file_is_reported_with_its_line(tmp_path):
    folder = folders.one_label(tmp_path / "run")
    path = folder / "history.jsonl"
    path.write_text(path.read_text("utf-8") + '{"step": 1\n{"step": 2', encoding="utf-8")
    with raises(InputError, "history.jsonl:13: "):
        read_run(str(folder))


def test_an_incomplete_last_line_is_ignored(tmp_path):
    folder = folders.one_label(tmp_path / "run")
    before = len(read_run(str(folder)).history)
    with open(folder / "history.jsonl", "a", encoding="utf-8") as file:
        file.write('{"step": 100, "lo')
    assert len(read_run(str(folder)).history) == before


def test_a_long_text_is_folded_and_a_short_one_is_not(pages):
    page = pages["one_label"][0]
    assert f'class="fold"><p class="text" dir="auto">{html.escape(folders.HOSTILE[0], quote=True)[:8]}' in page
    assert f'class="whole"><p class="text second" dir="auto">{folders.HOSTILE[1][:8]}' in page


def test_a_lone_surrogate_is_replaced(tmp_path):
    folder = folders.one_label(tmp_path / "run")
    lines = [json.loads(line) for line in (folder / "eval_examples.jsonl").read_text("utf-8").splitlines()]
    lines[1]["text"] = "a \ud800 b"
    folders.write(folder, "eval_examples.jsonl", lines)
    write_page(str(tmp_path / "page.html"), run_page(read_run(str(folder))))
    assert "a ? b" in (tmp_path / "page.html").read_text("utf-8")
