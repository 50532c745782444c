"""Kinds of tasks: a row per command that trains, with the facts that differ between them."""

import dataclasses

from bert_cli.base.head_types import CLASSIFIER, SPANS, TAGGER


@dataclasses.dataclass(frozen=True)
class TaskKind:
    """A kind of task.

    Attributes:
        command: the command that trains its models, and predicts with them.
        uses: pairs (purpose, command line) for a report, with {folder} and {pair} to fill in.
        head_type: the head that it trains, a key of HEAD_TYPES; None for several heads.
        own_flag: a flag that only its flags.txt has.
        python_class: class that loads its models in Python.
        main_metrics: metrics that summarize an evaluation; () if they depend on the data.
        is_per_cent: whether metrics go from 0 to 100 instead of 1.
    """

    command: str
    uses: tuple[tuple[str, str], ...]
    head_type: str | None = None
    own_flag: str = ""
    python_class: str = ""
    main_metrics: tuple[str, ...] = ()
    is_per_cent: bool = False


_EXPORT = ("Export it", "bert-export --init_checkpoint={folder} --export_dir=EXPORT/1")
CLASSIFICATION = TaskKind(
    "bert-classify",
    (
        ("Answer a text", "bert-classify --output_dir={folder} --text 'a text'{pair}"),
        ("Show which words matter", "bert-classify --output_dir={folder} --explain 'a text'{pair}"),
        ("Classify a file, one text per line", "bert-classify --output_dir={folder} --input_file=texts.txt"),
        _EXPORT,
    ),
    CLASSIFIER,
    "threshold",
    "Classifier",
)
TAGGING = TaskKind(
    "bert-tag",
    (("Tag a text", "bert-tag --output_dir={folder} --text 'a text'"), _EXPORT),
    TAGGER,
    "tag_scheme",
    "Tagger",
    ("eval_f1",),
    is_per_cent=True,
)
QUESTIONS = TaskKind(
    "bert-squad",
    (
        ("Answer the questions of a file", "bert-squad --output_dir={folder} --do_predict --predict_file=dev.json"),
        _EXPORT,
    ),
    SPANS,
    "n_best_size",
    "QuestionAnswerer",
    ("f1",),
    is_per_cent=True,
)
PRETRAINING = TaskKind(
    "bert-pretrain",
    (("Fill in words", "bert-fill-mask 'the dog [MASK] in the garden.' --init_checkpoint={folder}"),),
)
VECTORS = TaskKind(
    "bert-train-vectors",
    (
        (
            "Compute the vectors of a file, one text per line",
            "bert-extract-features --init_checkpoint={folder} --input_file=texts.txt --output_file=vectors.jsonl",
        ),
        ("Serve vectors", "bert-serve --model=vectors={folder}"),
        (
            "Convert it for sentence-transformers",
            "bert-convert --from={folder} --to=MODEL",
        ),
    ),
    own_flag="similarity_scale",
    python_class="FeatureExtractor",
    main_metrics=("eval_spearman", "eval_mrr"),
)
KINDS = {kind.command: kind for kind in (CLASSIFICATION, TAGGING, QUESTIONS, PRETRAINING, VECTORS)}
# Multiple choice is a problem type of CLASSIFICATION, without answers for single texts.
CHOICE_USES = (
    (
        "Choose among the endings of a file with the same columns",
        "bert-classify --output_dir={folder} --do_predict --predict_file=FILE",
    ),
)


def find_task_kind(head_types: set[str | None]) -> TaskKind | None:
    """Return the first kind with one of these heads, or None."""
    return next((kind for kind in KINDS.values() if kind.head_type in head_types - {None}), None)
