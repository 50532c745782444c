"""Rows through an engine that computes simple numbers: order, windows, choices and widths."""

import itertools
import threading

import numpy as np
import pytest

from bert_cli.features.choice import ChoiceFeatures
from bert_cli.features.classification import ClassificationFeatures
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.row_batches import length_groups
from bert_cli.inference.rows import Predictor, average_windows, map_in_threads, one_ahead, run_sequences
from tests.house_figures import HOUSE, imports

LENGTHS = [3, 1, 4, 1, 5, 2]
OFFSETS = np.concatenate([[0], np.cumsum(LENGTHS)])
SEQUENCES = RaggedFeatures(np.arange(1, 17, dtype=np.int32), np.zeros(16, np.int8), OFFSETS)
LABELS = np.zeros(6, np.int32)


class SumEngine:
    """An engine that returns the sum over token ids as a sequence's logit."""

    precision, is_chief = "float32", True

    def __init__(self, fixed_width=0, concurrency=1):
        self.fixed_width = fixed_width
        self.concurrency = concurrency
        self.batches = []

    def groups(self, lengths, max_tokens):
        return length_groups(lengths, max_tokens)

    def width(self, longest):
        return self.fixed_width or longest

    def run(self, batch):
        self.batches.append(batch)
        return {"logits": batch["input_word_ids"].sum(axis=1, keepdims=True).astype(np.float32)}


def expected_sums() -> np.ndarray:
    return np.add.reduceat(SEQUENCES.token_ids, OFFSETS[:-1]).astype(np.float32)


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("batch_size", [1, 2, 100])
def test_rows_have_their_original_order(batch_size, concurrency):
    engine = SumEngine(concurrency=concurrency)
    features = ClassificationFeatures(SEQUENCES, LABELS, tuple("abcdef"))
    inferred = Predictor(engine, 5).infer(features, batch_size, None)
    assert inferred.logits.tolist() == expected_sums()[:, None].tolist()
    widths = [batch["input_mask"].shape[1] for batch in engine.batches]
    assert concurrency > 1 or widths == sorted(widths, reverse=True)
    assert all(batch["input_mask"].size <= 5 * batch_size for batch in engine.batches)


def test_a_text_has_the_mean_of_its_windows():
    features = ClassificationFeatures(SEQUENCES, LABELS[:3], tuple("abc"), row_starts=np.array([0, 1, 3, 6]))
    sums = expected_sums()
    expected = [[sums[0]], [sums[1:3].mean()], [sums[3:].mean()]]
    np.testing.assert_allclose(Predictor(SumEngine(), 5).infer(features, 1, None).logits, expected, rtol=1e-6)


def test_choices_are_side_by_side():
    features = ChoiceFeatures(SEQUENCES, LABELS[:3], tuple("abc"))
    logits = Predictor(SumEngine(), 5).infer(features, 1, None).logits
    assert logits.tolist() == expected_sums().reshape(3, 2).tolist()


def test_an_engine_can_fix_the_width_and_read_more_columns():
    engine = SumEngine(fixed_width=7)
    columns = {"number": np.arange(6)}
    for rows, _ in run_sequences(engine, SEQUENCES, 10, columns):
        assert engine.batches[-1]["number"].tolist() == rows.tolist()
    assert {batch["input_mask"].shape[1] for batch in engine.batches} == {7}


def test_progress_and_check_see_all_rows():
    checked = []
    predictor = Predictor(SumEngine(), 5, checked.append)
    features = ClassificationFeatures(SEQUENCES, LABELS, tuple("abcdef"))
    with predictor.quietly():
        assert predictor.is_quiet
        rows = np.concatenate([rows for rows, _ in predictor.predict_batches(features, 2, "predicting")])
    assert sorted(rows.tolist()) == list(range(6))
    assert checked == [SEQUENCES]
    assert not predictor.is_quiet


def test_average_windows_by_hand():
    logits = np.array([[1.0, 2.0], [3.0, 6.0], [5.0, 7.0]], np.float32)
    assert average_windows(logits, np.array([0, 2, 3])).tolist() == [[2.0, 4.0], [5.0, 7.0]]


def test_threads_call_at_the_same_time_and_results_keep_their_order():
    together = threading.Barrier(2, timeout=20)
    second_ends = [threading.Event() for _ in range(3)]

    def wait(number: int) -> int:
        together.wait()
        if number % 2:
            second_ends[number // 2].set()
        else:  # the first of two calls ends last
            assert second_ends[number // 2].wait(20)
        return 10 * number

    assert list(map_in_threads(wait, range(6), 2)) == [0, 10, 20, 30, 40, 50]


def test_one_thread_is_the_callers():
    assert set(map_in_threads(lambda _: threading.current_thread(), range(3), 1)) == {threading.current_thread()}
    assert threading.current_thread() not in set(map_in_threads(lambda _: threading.current_thread(), range(3), 2))


def test_results_that_nobody_reads_do_not_pile_up():
    started = []
    results = map_in_threads(started.append, itertools.count(), 2)
    next(results)
    results.close()
    assert 1 <= len(started) <= 5


def test_the_first_error_in_order_is_raised_and_ends_the_threads():
    second_fails = threading.Event()

    def fail(number: int) -> int:
        if number == 2:
            assert second_fails.wait(20)
        elif number == 3:
            second_fails.set()
        if number in (2, 3):
            raise ValueError(str(number))
        return number

    before, results = threading.active_count(), []
    with pytest.raises(ValueError, match=r"^2$"):
        results.extend(map_in_threads(fail, range(100), 2))
    assert threading.active_count() == before
    assert list(itertools.islice(map_in_threads(fail, range(100), 2), 2)) == [0, 1]


def test_the_next_item_is_made_while_the_last_one_is_used():
    is_made = [threading.Event() for _ in range(4)]

    def items():
        for number, event in enumerate(is_made):
            event.set()
            yield number

    numbers = []
    for number in one_ahead(items()):
        assert all(event.wait(20) for event in is_made[: number + 2])
        numbers.append(number)
    assert numbers == [0, 1, 2, 3]


def test_an_error_in_a_later_item_comes_after_the_items_before_it():
    def items():
        yield 0
        yield 1
        raise ValueError("the third")

    before, numbers = threading.active_count(), []
    with pytest.raises(ValueError, match="the third"):
        numbers.extend(one_ahead(items()))
    assert numbers == [0, 1]
    assert threading.active_count() == before


def test_items_that_nobody_reads_are_not_made():
    made = itertools.count()
    items = one_ahead(itertools.islice(made, 100))
    assert next(items) == 0
    items.close()
    assert next(made) == 2


def importers(name):
    """Return the modules that import a module, or a name of one."""
    return {
        module for module in HOUSE.modules for _, target, _ in imports(module, HOUSE.read(module)) if target == name
    }


def test_one_function_opens_trained_models():
    """The driver, new texts, teachers, the server and Python open models with these callers of open_trained."""
    inference = "bert_cli.inference"
    callers = {f"bert_cli.predicting.{name}" for name in ("opening", "mask_filler", "vectors")}
    assert importers(f"{inference}.rows.open_trained") == callers
    assert importers(f"{inference}.rows") == {"bert_cli.runs.tasks.opening"}
    for name in ("tensorflow.open_tensorflow", "onnx.open_onnxruntime", "openvino.open_openvino"):
        assert importers(f"{inference}.{name}") == {f"{inference}.rows"}
    # A training goes back to its own weights.
    trainings = {"bert_cli.runs.training", "bert_cli.runs.callbacks.evaluation"}
    assert importers(f"{inference}.rows.load_trained") == trainings
