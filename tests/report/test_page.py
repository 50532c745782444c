"""Pages of runs made by hand, read with Python's own parser of HTML: every part is there, and hostile texts stay texts."""

import html
import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.report.page import run_page, write_page
from bert_cli.report.run_files import read_run
from tests.report import folders
from tests.report.reader import Reader


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Kind -> (the HTML of its page, what stands in it)."""
    found = {}
    for kind, (make, _) in folders.KINDS.items():
        page = run_page(read_run(str(make(tmp_path_factory.mktemp("runs") / kind))))
        found[kind] = page, Reader(page)
    return found


@pytest.mark.parametrize("kind", folders.KINDS)
def test_every_part_is_there(pages, kind):
    page, found = pages[kind]
    assert folders.OF_ALL | folders.KINDS[kind][1] <= set(found.ids)
    assert len(set(found.ids)) == len(found.ids)
    assert found.open == []
    assert page.startswith("<!DOCTYPE html>")
    assert "1.50 GB" in found.text
    assert "1 min 15 s" in found.text


@pytest.mark.parametrize("kind", folders.KINDS)
def test_no_script_and_nothing_from_outside(pages, kind):
    page, found = pages[kind]
    assert not found.tags & {"script", "iframe", "object", "embed", "img", "base", "form"}
    assert found.handlers == []
    assert all(link.startswith("#") or link == "data:," for link in found.links)
    assert "@import" not in page
    assert "url(http" not in page
    assert "default-src 'none'" in page
    targets = {link[1:] for link in found.links if link.startswith("#")}
    assert targets <= set(found.ids)


@pytest.mark.parametrize("kind", folders.KINDS)
def test_hostile_texts_stay_texts(pages, kind):
    page, found = pages[kind]
    assert folders.SCRIPT in found.text
    assert folders.SCRIPT not in page
    assert folders.LONG in found.text
    assert folders.RIGHT_TO_LEFT in found.text


def test_braces_of_a_text_are_no_template(pages):
    assert "{{ 7 * 7 }}" in pages["one_label"][1].text
    assert "$x^2$" in pages["one_label"][1].text


def test_a_page_is_small(pages):
    assert all(len(page.encode()) < 200_000 for page, _ in pages.values())


def test_the_best_step_is_told(pages):
    """The history has its best accuracy, 0.9, at step 60."""
    assert "Best: 0.9000 after step 60." in pages["one_label"][1].text


def test_final_loss_and_peak_learning_rate_have_one_definition(pages):
    """Not the last line of the history, 0.1653 and 1.11e-05, nor its largest rate, 8.89e-05."""
    text = pages["one_label"][1].text
    assert "Final loss: 0.1625, the mean over the last tenth of the steps." in text
    assert "Peak of the schedule: 1e-04." in text


def test_of_a_long_context_what_is_around_the_answer(tmp_path):
    folder = folders.squad(tmp_path / "run")
    path = folder / "eval_examples.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    context = "".join(f"word{n} " for n in range(300))
    first = context.index("word150")
    lines[1] |= {"context": context, "answer": [first, first + 7]}
    folders.write(folder, path.name, lines)
    found = Reader(run_page(read_run(str(folder)))).text
    assert "word149 word150 word151" in found
    assert [word in found for word in ("word110 ", "word120 ", "word180 ", "word190 ")] == [False, True, True, False]


def test_a_choice_is_not_told_to_answer_a_text(pages):
    text = pages["multiple_choice"][1].text
    assert "--do_predict --predict_file=FILE" in text
    assert not any(other in text for other in ("--text '", "--input_file", "bert-export"))
    assert "1: <script>" in text  # an ending with its place, as predictions.tsv counts


def test_a_run_that_left_little_has_a_small_page(tmp_path):
    folder = folders.pretraining(tmp_path / "run")
    for name in ("run_report.json", "eval_results.txt", "history.jsonl", "flags.txt"):
        (folder / name).unlink()
    found = Reader(run_page(read_run(str(folder))))
    assert {"card-commands", "card-settings", "card-model"} <= set(found.ids)
    assert "card-loss" not in found.ids


def test_no_run_is_told(tmp_path):
    with pytest.raises(InputError, match=r"there is no run\.json"):
        read_run(str(tmp_path))
    with pytest.raises(InputError, match="no such folder"):
        read_run(str(tmp_path / "none"))
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match=r"is not the run\.json of a training run"):
        read_run(str(tmp_path))


def test_a_damaged_file_is_named_with_its_line(tmp_path):
    folder = folders.one_label(tmp_path / "run")
    path = folder / "history.jsonl"
    path.write_text(path.read_text("utf-8") + '{"step": 1\n{"step": 2', encoding="utf-8")
    with pytest.raises(InputError, match=r"history\.jsonl:13: is not JSON"):
        read_run(str(folder))


def test_a_last_line_without_its_end_is_none(tmp_path):
    folder = folders.one_label(tmp_path / "run")
    before = len(read_run(str(folder)).history)
    with open(folder / "history.jsonl", "a", encoding="utf-8") as file:
        file.write('{"step": 100, "lo')
    assert len(read_run(str(folder)).history) == before


def test_a_long_text_is_folded_and_a_short_one_is_not(pages):
    page = pages["one_label"][0]
    assert f'class="fold"><p class="text" dir="auto">{html.escape(folders.HOSTILE[0], quote=True)[:8]}' in page
    assert f'class="whole"><p class="text second" dir="auto">{folders.HOSTILE[1][:8]}' in page


def test_half_of_a_surrogate_pair_is_written(tmp_path):
    folder = folders.one_label(tmp_path / "run")
    lines = [json.loads(line) for line in (folder / "eval_examples.jsonl").read_text("utf-8").splitlines()]
    lines[1]["text"] = "a \ud800 b"
    folders.write(folder, "eval_examples.jsonl", lines)
    write_page(str(tmp_path / "page.html"), run_page(read_run(str(folder))))
    assert "a ? b" in (tmp_path / "page.html").read_text("utf-8")
