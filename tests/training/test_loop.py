"""The training loop: saved and reported steps, and losses that are not finite."""

import itertools
import math
import types
from fractions import Fraction

import pytest

from bert_cli.base.errors import InputError
from bert_cli.training import loop
from bert_cli.training.loop import CallbackError, LoopCallback, final_loss, run_steps, unwrapping_callback_errors
from tests.snapshots import raises
from tests.train_rows import Called


class Logged(LoopCallback):
    def __init__(self, events):
        self.events = events

    def on_log(self, step, loss, rate):
        self.events.append(("report", step, loss, rate))


class Record:
    """Log of a run's events. Step k (from 0) has loss k + 0.5, unless `losses` is given, and rate k/10."""

    def __init__(self, start=0, losses=None):
        self.events, self.start, self.losses, self.next = [], start, losses or {}, start
        self.batches_taken = 0
        self.hooks = []

    def step(self, batch):
        assert batch == {"number": self.next}
        loss, rate = self.losses.get(self.next, self.next + 0.5), self.next / 10
        self.next += 1
        return loss, rate

    def batches(self):
        for number in itertools.count(self.start):
            self.batches_taken += 1
            yield {"number": number}

    def run(self, steps, save_every=1000, report_every=1000, ends_after=None):
        return run_steps(
            self.step,
            self.batches(),
            self.start,
            steps,
            [
                Logged(self.events),
                *self.hooks,
                Called(save_every, lambda step: self.events.append(("save", step)), saves=True),
            ],
            report_every,
            lambda: self.next == ends_after,
        )

    def hook(self, name, every, stops_at=None):
        """Add a hook that is called before the saving hook."""

        def call(step):
            self.events.append((name, step))
            return True if step == stops_at else None

        self.hooks.append(Called(every, call))

    @property
    def called(self):
        return [event for event in self.events if event[0] != "report"]

    @property
    def saved(self):
        return [event[1] for event in self.events if event[0] == "save"]

    @property
    def reported(self):
        return [event[1:] for event in self.events if event[0] == "report"]


def test_losses_of_all_steps_are_returned():
    record = Record()
    assert record.run(5) == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert record.batches_taken == 5


@pytest.mark.parametrize(
    ("start", "steps", "every", "saved"),
    [(0, 7, 3, [3, 6, 7]), (0, 6, 3, [3, 6]), (4, 9, 3, [6, 9]), (0, 2, 5, [2]), (3, 5, 1, [4, 5])],
)
def test_saved_steps(start, steps, every, saved):
    record = Record(start)
    assert len(record.run(steps, save_every=every)) == steps - start
    assert record.saved == saved


def test_reports_have_the_mean_since_the_last_report():
    record = Record()
    record.run(7, report_every=3)
    assert record.reported == [(3, 1.5, 0.2), (6, 4.5, 0.5), (7, 5.5, 0.6)]


@pytest.mark.parametrize(("steps", "every", "count"), [(7, 3, 3), (30, 1, 3), (30, 7, 7), (5, 10, 5)])
def test_final_loss_is_mean_over_last_tenth_or_interval(steps, every, count):
    """The last report has this loss, even if the last interval is a single step."""
    record = Record()
    losses = record.run(steps, report_every=every)
    expected = sum(losses[-count:]) / count
    assert final_loss(losses, steps, every) == pytest.approx(expected)
    assert record.reported[-1][1] == pytest.approx(expected)


def test_resumed_run_reports_at_the_same_steps():
    record = Record(start=4)
    record.run(7, report_every=3)
    assert [step for step, *_ in record.reported] == [6, 7]
    assert record.reported[0][1] == pytest.approx((4.5 + 5.5) / 2)


def test_report_for_a_saved_step_does_not_reset_the_mean():
    record = Record()
    record.run(4, save_every=2, report_every=3)
    assert record.reported == [(2, 1.0, 0.1), (3, 1.5, 0.2), (4, 2.5, 0.3)]
    assert record.events.index(("report", 2, 1.0, 0.1)) < record.events.index(("save", 2))


def test_slow_steps_have_additional_reports(monkeypatch):
    record, step_seconds = Record(), 0.6 * loop._READ_INTERVAL
    monkeypatch.setattr(loop, "time", types.SimpleNamespace(monotonic=lambda: record.next * step_seconds))
    record.run(5)
    assert [step for step, *_ in record.reported] == [2, 4, 5]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("bad_step", [0, 3, 4, 5, 9])
def test_loss_that_is_not_finite_is_reported_and_not_saved(bad, bad_step):
    """The error counts updates from 1, like `save`."""
    record = Record(losses={bad_step: bad})
    with raises(InputError, bad_step + 1):
        record.run(10, save_every=2)
    assert record.saved == [step for step in (2, 4, 6, 8) if step <= bad_step]


def test_step_is_counted_from_the_start_of_training():
    with raises(InputError):
        Record(start=10, losses={12: math.nan}).run(20, save_every=5)


def test_hooks_are_called_in_order_and_after_the_last_step():
    record = Record()
    record.hook("a", 2)
    record.hook("b", 3)
    record.run(7, save_every=6)
    expected = [("a", 2), ("b", 3), ("a", 4), ("a", 6), ("b", 6), ("save", 6), ("a", 7), ("b", 7), ("save", 7)]
    assert record.called == expected


def test_stopping_hook_ends_training_after_its_step():
    """Hooks that run after the last step, such as saving, are called once, even if they are not due."""
    record = Record()
    record.hook("early", 5)
    record.hook("stop", 2, stops_at=4)
    assert record.run(10) == [0.5, 1.5, 2.5, 3.5]
    assert record.called == [("stop", 2), ("stop", 4), ("early", 4), ("save", 4)]
    assert record.batches_taken == 4


def test_hooks_are_due_at_the_same_steps_in_a_resumed_run():
    record = Record(start=5)
    record.hook("a", 3)
    record.run(10)
    assert record.called == [("a", 6), ("a", 9), ("a", 10), ("save", 10)]


def test_fractional_intervals_are_rounded_down():
    """Epochs with 25 examples and a batch size of 4 end in steps 6, 12, 18 and 25."""
    assert [step for step in range(1, 27) if Called(Fraction(25, 4), print).is_due(step)] == [6, 12, 18, 25]
    assert [step for step in range(1, 5) if Called(Fraction(1, 2), print).is_due(step)] == [1, 2, 3, 4]
    assert [step for step in range(1, 8) if Called(3, print).is_due(step)] == [3, 6]


def test_stopping_after_the_last_step_calls_nothing_twice():
    record = Record()
    record.hook("stop", 2, stops_at=4)
    assert len(record.run(4, save_every=3)) == 4
    assert record.called == [("stop", 2), ("save", 3), ("stop", 4), ("save", 4)]


def test_stopped_process_saves_after_the_current_step():
    """Other hooks are not called early. A resumed run will call them."""
    record = Record()
    record.hook("a", 2)
    assert record.run(10, save_every=4, ends_after=5) == [0.5, 1.5, 2.5, 3.5, 4.5]
    assert record.called == [("a", 2), ("a", 4), ("save", 4), ("save", 5)]
    assert record.reported[-1][:2] == (5, 2.5)
    assert record.batches_taken == 5


@pytest.mark.parametrize(("ends_after", "steps"), [(4, [4]), (6, [4, 6])])
def test_last_step_is_not_saved_twice(ends_after, steps):
    record = Record()
    record.hook("a", 4)
    record.run(6, save_every=4, ends_after=ends_after)
    assert record.called == [(name, step) for step in steps for name in ("a", "save")]


def test_state_that_is_not_finite_is_not_saved_at_the_end():
    record = Record(losses={2: math.nan})
    with raises(InputError):
        record.run(10, ends_after=3)
    assert record.saved == []


def test_hooks_are_not_called_for_a_loss_that_is_not_finite():
    record = Record(losses={3: math.nan})
    record.hook("a", 1)
    with pytest.raises(InputError):
        record.run(10)
    assert record.called == [("a", 1), ("a", 2), ("a", 3)]


class Failing(LoopCallback):
    """Callback that fails in `on_log` or `on_step`."""

    def __init__(self, method, step):
        self.every = 1

        def fail(current, *arguments):
            if current == step:
                error = LookupError("gone")
                raise CallbackError(error, f"in Failing.{method} at step {step}") from error

        setattr(self, method, fail)


class SavesAfterFailures(Called):
    def on_failure(self, step):
        self.on_step(step)


@pytest.mark.parametrize("method", ["on_log", "on_step"])
@pytest.mark.parametrize("save_every", [2, 1000])
def test_failed_callback_ends_the_training_after_the_others_and_the_state_is_saved_once(method, save_every):
    record, saved = Record(), []
    record.hooks = [Failing(method, 2)]
    record.hook("evaluation", 2)
    record.hooks.append(SavesAfterFailures(save_every, saved.append))
    with pytest.raises(LookupError, match="gone") as caught, unwrapping_callback_errors():
        record.run(10, report_every=1)
    assert caught.value.__notes__ == [f"in Failing.{method} at step 2"]
    assert ("evaluation", 2) in record.called
    assert saved == [2]


def test_error_while_the_state_is_saved_does_not_hide_the_failure():
    def disk_is_full(step):
        raise InputError("no space")

    record, notes = Record(), []
    record.hooks = [Failing("on_step", 2), SavesAfterFailures(1000, disk_is_full)]
    with (
        pytest.raises(LookupError, match="gone"),
        unwrapping_callback_errors(lambda failure: notes.append(failure.later_error)),
    ):
        record.run(10)
    assert [str(note) for note in notes] == ["no space"]
