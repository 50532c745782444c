"""Trackers of a command's runs, and the trackers of a sweep that are their parents."""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from bert_cli.outputs.history import HistoryEntry
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.callbacks.services import SERVICES
from bert_cli.runs.callbacks.trackers import Tracker
from bert_cli.settings.training import Saving


def make_trackers(
    saving: Saving,
    directory: RunDirectory,
    flags: Mapping[str, str],
    parents: "SweepTrackers | None",
    is_resumed: bool,
    history: Sequence[HistoryEntry],
) -> list[Tracker]:
    """Return a run's tracker for each name in --report_to, using the arguments as Tracker does.

    Args:
        directory, flags, is_resumed, history: see Tracker.
        parents: trackers of the run's sweep, or None.
    """
    return [
        Tracker(
            SERVICES[name](), directory, flags, parents.tracker(name) if parents else None, False, saving.report_model,
            is_resumed, history,
        )
        for name in saving.report_to
    ]  # fmt: skip


class SweepTrackers:
    """A sweep's trackers, which start with its first run and are parents of its runs' trackers."""

    def __init__(
        self,
        saving: Saving,
        directory: RunDirectory,
        flags: Mapping[str, str],
        parents: "SweepTrackers | None" = None,
        is_resumed: bool = False,
    ):
        """Make a tracker per name in --report_to.

        Args:
            directory, flags, is_resumed: see Tracker.
            parents: trackers of the grid that contains this sweep, or None.
        """
        self._trackers = {
            name: Tracker(
                SERVICES[name](), directory, flags, parents.tracker(name) if parents else None, is_sweep=True,
                is_resumed=is_resumed,
            )
            for name in saving.report_to
        }  # fmt: skip

    def tracker(self, name: str) -> Tracker:
        return self._trackers[name]

    def store_ids(self) -> None:
        for tracker in self._trackers.values():
            tracker.store_id()

    def end(self, report: Mapping[str, Any]) -> None:
        for tracker in self._trackers.values():
            tracker.on_end(report)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for tracker in self._trackers.values():
            tracker.__exit__(error_type, error, traceback)
