"""Answers to questions from Python:

    from bert_cli import QuestionAnswerer
    pair = ("Where does Zora live?", "Zora lives in Kelm.")
    QuestionAnswerer.load("bert_output").answer([pair])[0]["answer"]

is a part of the context, "" for no answer; `train` makes a new model.
"""

import functools
import os
from collections.abc import Iterable
from typing import Any

from bert_cli.api import loading
from bert_cli.api.arguments import named_arguments
from bert_cli.api.texts import list_items
from bert_cli.base.errors import InputTypeError
from bert_cli.examples.squad.records import SquadExample, split_context
from bert_cli.features.cuts import warn_cuts
from bert_cli.features.squad import check_lengths
from bert_cli.outputs.squad import check_search
from bert_cli.runs.engine.predictor import Predictor
from bert_cli.runs.loading.trained import load_with_settings
from bert_cli.runs.tasks import opening
from bert_cli.runs.tasks.squad import SquadTask, check_values
from bert_cli.runs.tasks.squad_data import SquadDataset
from bert_cli.runs.tasks.squad_interactive import answer_questions, answer_record
from bert_cli.settings.squad import SquadSettings
from bert_cli.text.tokenization import FullTokenizer


class QuestionAnswerer(loading.Trained, loading.Cutting):
    """A model that bert-squad trained, or a Hugging Face model of its kind. Made by `load` or
    `train`.

    `report` and `output_dir`: of its training by `train`.
    """

    # A static method: from Python 3.14 on, a partial function in a class becomes a method.
    on_cut = staticmethod(functools.partial(warn_cuts, noun="questions"))

    def __init__(self, session: Predictor, task: SquadTask, tokenizer: FullTokenizer):
        self._session = session
        self._task = task
        self._tokenizer = tokenizer

    @classmethod
    @named_arguments(predict_file="dev_file")
    def train(
        cls,
        train_file: str | os.PathLike,
        dev_file: str | os.PathLike | None = None,
        output_dir: str | os.PathLike | None = None,
        **options: Any,
    ) -> "QuestionAnswerer":
        """Train as bert-squad does, and load what came of it.

        train_file, dev_file: files in the form of SQuAD, of which the second is evaluated.
        output_dir: by default a temporary folder, which lives as long as the model. options: flags
        of bert-squad without their dashes. Raises InputError as the command does, naming arguments.
        """
        phases = {"train_file": train_file, "predict_file": dev_file, "do_eval": dev_file is not None}
        return cls._run(SquadSettings, SquadTask, phases, output_dir, options, check_values)

    @classmethod
    @named_arguments()
    def load(
        cls,
        path: str,
        n_best_size: int | None = None,
        max_answer_length: int | None = None,
        max_seq_length: int | None = None,
        do_lower_case: bool | None = None,
        precision: str | None = None,
        engine: str | None = None,
        hub_module: str | None = None,
    ) -> "QuestionAnswerer":
        """Load from an output_dir of bert-squad, or a checkpoint with vocabulary and config next to
        it.

        n_best_size: answers in the n-best list; max_answer_length: in tokens; max_seq_length:
        tokens of a window; by default as the model was trained, else as the flags of bert-squad. A
        model that was trained with --version_2_with_negative may say that there is no answer.
        precision, engine: as the flags. hub_module: the handle of the module that the model was
        trained on, where it is not a BERT and does not lie in the model's folder. Raises InputError
        where something is missing, damaged, or does not fit together.
        """
        given = loading.flags_of(locals())
        checkpoint = loading.find(path, SquadTask.command)
        settings, model = load_with_settings(checkpoint, SquadSettings, given)
        task = SquadTask(settings)
        # Here no flags were checked together: saved ones and arguments may not fit each other.
        check_lengths(settings.encoding.max_seq_length, settings.task.doc_stride, settings.task.max_query_length)
        check_search(settings.answers)
        session = opening.open_for_new_texts(task, model, SquadDataset(settings, model.tokenizer), settings)
        return cls(session, task, model.tokenizer)

    @named_arguments()
    def answer(self, questions: Iterable[tuple[str, str]]) -> list[dict]:
        """Answer n pairs (question, context), in their order.

        Each record is as JSON lines of bert-squad have it (see
        runs.tasks.squad_interactive.answer_record): `answer`, its `probability` among the `nbest`,
        `start` and `end` in characters of the context, and the `sentence` around it.
        """
        pairs = list_items("questions", questions, "a list of pairs (question, context)", is_of_pairs=True)
        examples = [_example(number, pair) for number, pair in enumerate(pairs)]
        if not examples:
            return []
        predictions, cuts = answer_questions(self._session, self._task, examples, self._tokenizer)
        self.on_cut(cuts, self._task.settings.task.max_query_length)
        return [answer_record(example, found) for example, found in zip(examples, predictions, strict=True)]


def _example(number: int, pair: object) -> SquadExample:
    if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
        raise InputTypeError(f"questions[{number}]: a pair (question, context) is needed, found {pair!r:.80}")
    return SquadExample(str(number), pair[0], split_context(pair[1]))
