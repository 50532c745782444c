"""Time until a model has the dev score of Hugging Face's Trainer, on public tasks.

    python -m benchmarks.time_to_score --data=DATA_SETS --peer_python=OTHER_VENV/bin/python --seeds=3
    python -m benchmarks.time_to_score --data=DATA_SETS --peer_python=OTHER_VENV/bin/python --seeds=1 --grid

All programs start from the built-in model. The Trainer runs with TrainingArguments' defaults
(trainer), and at its best settings (trainer-best). These are the rate and batch size in
score_tasks.py, which --grid helps to choose, with batches of similar length, and with bfloat16 if the
processor has units for it. Our commands run without any flag for the training. A second run with our
command evaluates along the way. Its time to the score is the time from the process's start to its
first evaluation that reaches the Trainer's final score with the same seed. Earlier evaluations count.
The table has means over the seeds with their standard deviation, and in parentheses the share of the
Trainer's time. "all" is the mean over the tasks. This needs Linux: /proc has the processor time of a
running process.
"""

import argparse
import dataclasses
import functools
import json
import pathlib
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.processes import Mark, run, run_marked
from benchmarks.score_tasks import REPORTED, TAGS, TASKS, DataError, ScoredTask, write_task
from bert_cli.opening.paths import PRETRAINED
from bert_cli.outputs.history import read_history
from bert_cli.runtime.machine import has_fast_bfloat16

_PEER = pathlib.Path(__file__).parent / "peers" / "trainer_score.py"
_RATES, _BATCHES = (5e-5, 1e-4, 3e-4, 1e-3), (8, 16, 32)  # tried by --grid
_EVALUATION = r"^evaluation at step (\d+) "  # in our log
OURS, DEFAULTS, BEST = "bert_cli", "trainer", "trainer-best"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """One run of a program.

    Attributes:
        task, program, seed: the run.
        score: dev score at the end.
        seconds, cpu_seconds: for the whole process.
        curve: (score, seconds, processor seconds) per evaluation.
    """

    task: str
    program: str
    seed: int
    score: float
    seconds: float
    cpu_seconds: float
    curve: tuple[tuple[float, float, float], ...] = ()


@dataclasses.dataclass(frozen=True)
class Bench:
    """Inputs for all runs.

    Attributes:
        model: the built-in model as a Hugging Face directory.
        files: path by split, by task.
        folder: directory for outputs.
        peer_python: interpreter with transformers.
        flags: further flags of our commands, such as a candidate for a default.
    """

    model: pathlib.Path
    files: Mapping[str, Mapping[str, pathlib.Path]]
    folder: pathlib.Path
    peer_python: str
    flags: Sequence[str]

    def train_peer(self, name: str, seed: int, program: str, flags: Sequence[str] = ()) -> Outcome:
        """Train with the Trainer, which has its defaults except for `flags` of trainer_score.py."""
        task, files = TASKS[name], self.files[name]
        command = [self.peer_python, str(_PEER), str(self.model), str(files["train"]), str(files["dev"])]
        command += [f"--kind={task.kind}", f"--metric={task.metric}", f"--seed={seed}"]
        process = run([*command, *flags], program)
        return Outcome(name, program, seed, process.last_object()["score"], process.seconds, process.cpu_seconds)

    def train_ours(self, name: str, seed: int, evaluations: int) -> Outcome:
        """Train with our command, and evaluate `evaluations` times on the way if it is above 0."""
        task, files = TASKS[name], self.files[name]
        output_dir = self.folder / f"{name}-{seed}-{evaluations}"
        command = [sys.executable, "-m", "bert_cli.run_tagging" if task.kind == TAGS else "bert_cli.run_classifier"]
        command += ["--do_train", "--do_eval", f"--train_file={files['train']}", f"--dev_file={files['dev']}"]
        command += [f"--random_seed={seed}", f"--output_dir={output_dir}", *_kind_flags(task), *self.flags]
        if not evaluations:
            process = run(command, OURS)
            report = json.loads((output_dir / "run_report.json").read_text(encoding="utf-8"))
            score = task.unit * report["eval"][task.metric]
            return Outcome(name, OURS, seed, score, process.seconds, process.cpu_seconds)
        steps = json.loads((self.folder / f"{name}-{seed}-0" / "run_report.json").read_text(encoding="utf-8"))
        command += [f"--eval_every={max(1, steps['global_step'] // evaluations)}"]
        process, marks = run_marked(command, OURS, _EVALUATION)
        curve = tuple(make_curve(str(output_dir), task, marks))
        return Outcome(name, f"{OURS}, evaluated", seed, curve[-1][0], process.seconds, process.cpu_seconds, curve)


def _fast_flags(rate: float, batch: int) -> list[str]:
    """Return the Trainer's flags for a rate and a batch size, and those that make it fastest."""
    return [f"--rate={rate}", f"--batch={batch}", "--group", *(["--bf16"] if has_fast_bfloat16() else [])]


def _kind_flags(task: ScoredTask) -> list[str]:
    """Return the flag that the data needs: numbers such as 3.5 are labels or values."""
    return ["--problem_type=regression"] if task.kind == "number" else []


def make_curve(output_dir: str, task: ScoredTask, marks: Sequence[Mark]) -> Iterator[tuple[float, float, float]]:
    """Yield score, seconds and processor seconds for each evaluation in a run's history.

    Args:
        output_dir: the run's directory.
        task: the task, with its metric.
        marks: times at which the log had an evaluation, with its step.
    """
    times = {int(mark.text): mark for mark in marks}
    for line in read_history(output_dir):
        if "metrics" in line:
            mark = times[line["step"]]
            yield task.unit * line["metrics"][task.metric], mark.seconds, mark.cpu_seconds


def time_to(score: float, curve: Sequence[tuple[float, float, float]]) -> tuple[float, float] | None:
    """Return seconds and processor seconds until a score is reached; None if it never is."""
    return next(((seconds, cpu) for value, seconds, cpu in curve if value >= score), None)


def measure(bench: Bench, names: Sequence[str], seeds: Sequence[int], evaluations: int) -> Iterator[Outcome]:
    """Yield all programs' runs, in reverse order for every other seed."""
    for name in names:
        for seed in seeds:
            ours = [functools.partial(bench.train_ours, name, seed, count) for count in (0, evaluations)]
            peers = [
                functools.partial(bench.train_peer, name, seed, DEFAULTS),
                functools.partial(bench.train_peer, name, seed, BEST, _fast_flags(*TASKS[name].best)),
            ]
            # Our evaluated run follows our plain one, whose number of steps it needs.
            for start in [*ours, *peers] if seed % 2 else [*peers, *ours]:
                yield start()


def measure_grid(bench: Bench, names: Sequence[str], seeds: Sequence[int]) -> Iterator[Outcome]:
    """Yield the Trainer's runs with each rate and batch size."""
    for name in names:
        for rate in _RATES:
            for batch in _BATCHES:
                for seed in seeds:
                    yield bench.train_peer(name, seed, f"trainer, {rate:g}, {batch}", _fast_flags(rate, batch))


def _spread(values: Sequence[float], digits: int) -> str:
    """Return mean ± standard deviation, or the only value."""
    mean = f"{statistics.fmean(values):.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {statistics.stdev(values):.{digits}f}"


_COLUMNS = (
    "task",
    "program",
    "score",
    "seconds",
    "CPU seconds",
    *(f"to {name}, s; CPU s" for name in (DEFAULTS, BEST)),
)


def make_table(outcomes: Sequence[Outcome]) -> Table:
    """Return a table with scores, times for the whole process, and times to the Trainer's scores."""
    table = Table()
    for column in _COLUMNS:
        table.add_column(column, justify="left" if column in ("task", "program") else "right")
    names, programs = (list(dict.fromkeys(getattr(run, key) for run in outcomes)) for key in ("task", "program"))
    for name in names:
        for program in programs:
            runs = [run for run in outcomes if run.task == name and run.program == program]
            table.add_row(
                name, program, _spread([run.score for run in runs], 3), _spread([run.seconds for run in runs], 1),
                _spread([run.cpu_seconds for run in runs], 1),
                *(_show_times(outcomes, runs, peer) for peer in (DEFAULTS, BEST)),
            )  # fmt: skip
    for program in programs if len(names) > 1 else []:
        runs = [run for run in outcomes if run.program == program]
        table.add_row(
            "all", program, *_task_means(runs), *(_show_times(outcomes, runs, peer) for peer in (DEFAULTS, BEST))
        )
    return table


def _task_means(runs: Sequence[Outcome]) -> list[str]:
    """Return the means over tasks of score, seconds and processor seconds."""
    by_task = [[run for run in runs if run.task == name] for name in dict.fromkeys(run.task for run in runs)]
    return [
        f"{statistics.fmean(statistics.fmean(getattr(run, key) for run in task_runs) for task_runs in by_task):.{digits}f}"
        for key, digits in (("score", 3), ("seconds", 1), ("cpu_seconds", 1))
    ]


def _show_times(outcomes: Sequence[Outcome], runs: Sequence[Outcome], peer: str) -> str:
    """Return the mean time to a peer's scores, with its share of the peer's time; "" for runs without a curve."""
    peers = {(run.task, run.seed): run for run in outcomes if run.program == peer}
    curves = [(peers[run.task, run.seed], run.curve) for run in runs if run.curve]
    times = [(other, time) for other, curve in curves if (time := time_to(other.score, curve))]
    if not curves:
        return ""
    never = f"{len(curves) - len(times)} of {len(curves)} never" if len(times) < len(curves) else ""
    if not times:
        return never
    means = [statistics.fmean(time[index] for _, time in times) for index in (0, 1)]
    shares = (
        means[0] / statistics.fmean(other.seconds for other, _ in times),
        means[1] / statistics.fmean(other.cpu_seconds for other, _ in times),
    )
    shown = "; ".join(f"{mean:.1f} ({share:.0%})" for mean, share in zip(means, shares, strict=True))
    return f"{shown}; {never}" if never else shown


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.time_to_score", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--data", required=True, help="directory with the data sets: cola/train.tsv, …")
    parser.add_argument("--only", default=",".join(REPORTED), help="tasks with commas: " + ", ".join(TASKS))
    parser.add_argument("--seeds", type=int, default=3, help="number of seeds")
    parser.add_argument("--peer_python", default=sys.executable, help="the interpreter that has transformers")
    parser.add_argument("--evaluations", type=int, default=8, help="evaluations in our second run")
    parser.add_argument("--flags", default="", help="further flags of our commands, separated by spaces")
    parser.add_argument("--full", action="store_true", help="use all training rows instead of at most 2,000")
    parser.add_argument("--grid", action="store_true", help="only the Trainer, with several rates and batch sizes")
    parser.add_argument("--json", help="file for all figures, a line per run")
    settings = parser.parse_args(arguments)
    unknown = sorted(set(settings.only.split(",")) - set(TASKS))
    if unknown:
        parser.error(f"--only: unknown task {unknown[0]!r}; known: {', '.join(TASKS)}")
    if settings.seeds < 1 or settings.evaluations < 1:
        parser.error("--seeds and --evaluations must be at least 1")
    return settings


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table."""
    settings = parse_arguments(arguments)
    names, seeds = settings.only.split(","), range(1, settings.seeds + 1)
    progress, outcomes = Console(stderr=True, highlight=False, soft_wrap=True), []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        try:
            files = {
                name: write_task(TASKS[name], pathlib.Path(settings.data), folder / name, settings.full)
                for name in names
            }
        except DataError as error:
            sys.exit(f"error: {error}")
        model = folder / "model"
        run([sys.executable, "-m", "bert_cli.convert_checkpoint", f"--from={PRETRAINED}", f"--to={model}"], "convert")
        bench = Bench(model, files, folder, settings.peer_python, settings.flags.split())
        runs = (
            measure_grid(bench, names, seeds) if settings.grid else measure(bench, names, seeds, settings.evaluations)
        )
        for outcome in runs:
            outcomes.append(outcome)
            progress.print(
                f"{outcome.task}, seed {outcome.seed}, {outcome.program}: score {outcome.score:.4f}, "
                f"{outcome.seconds:.1f} s, CPU {outcome.cpu_seconds:.1f} s"
            )
            if settings.json:
                with open(settings.json, "a", encoding="utf-8") as lines:
                    print(json.dumps(dataclasses.asdict(outcome)), file=lines)
    Console(width=None if sys.stdout.isatty() else 140).print(make_table(outcomes))


if __name__ == "__main__":
    main()
