"""Answers to questions for Python programs.

   from bert_cli import QuestionAnswerer
   pair = ("Where does Zora live?", "Zora lives in Kelm.")
   QuestionAnswerer.load("bert_output").answer([pair])[0].answer

returns a part of the context, or "" if there is no answer. `train` trains a new model.
"""

import contextlib
import dataclasses
import functools
import os
from collections.abc import Iterable, Sequence
from typing import Any, Unpack

from bert_cli.api.arguments import check_arguments
from bert_cli.api.inputs.frames import TextColumns
from bert_cli.api.inputs.model_path import find_model
from bert_cli.api.inputs.options import SquadOptions
from bert_cli.api.inputs.questions import number_questions
from bert_cli.api.inputs.tables import is_path
from bert_cli.api.inputs.texts import QUESTIONS, Texts, read_texts_argument
from bert_cli.api.results.answers import Answers, make_answer
from bert_cli.api.saving import remember_model_source
from bert_cli.api.training import PythonTraining, TrainableModel
from bert_cli.api.watching import Callback, Watching
from bert_cli.base.errors import name_arguments_in_errors
from bert_cli.examples.squad.records import SquadExample, split_context
from bert_cli.features.packing import CuttingModel, warn_cuts
from bert_cli.flags.option import replace_values
from bert_cli.flags.paths import path_text
from bert_cli.opening.bundle import AnyModel
from bert_cli.opening.trained import check_command, load_with_settings
from bert_cli.predicting.opening import AnswererSettings, select_groups
from bert_cli.predicting.question_answerer import TextAnswerer, answer_record, open_answerer
from bert_cli.runs.tasks.squad import SquadTask, check_answers
from bert_cli.settings.squad import SquadSettings


class QuestionAnswerer(TrainableModel, CuttingModel):
    """Question-answering model, made by `load` or `train`.

    The model may be trained by bert-squad, or be a Hugging Face model for question answering.
    """

    # Make it a static method: from Python 3.14 on, a partial function in a class becomes a method.
    on_cut = staticmethod(functools.partial(warn_cuts, noun="questions"))

    def __init__(self, answerer: TextAnswerer, settings: SquadSettings, model: AnyModel):
        self._answerer = answerer
        self._settings = settings
        self._model = model
        self._engine = answerer.predictor.engine

    @classmethod
    @name_arguments_in_errors(train_file="train", predict_file="dev")
    def train(
        cls,
        train: Any,
        dev: Any = None,
        output_dir: str | os.PathLike | None = None,
        callbacks: Sequence[Callback] = (),
        verbose: int | None = None,
        **options: Unpack[SquadOptions],
    ) -> "QuestionAnswerer":
        """Train as bert-squad does, and load the trained model.

        Args:
            train: training data: a path as for --train_file; a table, or a list of dicts, with a
                question per row (question, context, answer, perhaps answer_start); a list of
                (question, context, answer); or the JSON value of a SQuAD file.
            dev: data to evaluate, in the same forms; None for no evaluation.
            output_dir: the run's directory. By default a temporary one that is deleted together
                with the model.
            callbacks, verbose: observers, and how much to show, see api.watching.Watching.
            options: flags of bert-squad without dashes. The most common ones: init_checkpoint
                (the built-in model), num_train_epochs (3.0; 4.0 for small models), learning_rate
                (5e-5; up to 3e-4 for small models), train_batch_size=32, max_seq_length=384,
                doc_stride=128, random_seed=12345.

        Raises:
            InputError: if bert-squad would refuse the data or options. The message names arguments,
                and train:n for a question in a list or table.
        """
        arguments = (("train_file", "train", train), ("predict_file", "dev", dev))
        sources = {
            flag: number_questions(name, data)
            for flag, name, data in arguments
            if data is not None and not is_path(data)
        }
        phases = {flag: data if data is None or is_path(data) else name for flag, name, data in arguments}
        return cls._load_trained(
            PythonTraining(
                SquadSettings,
                lambda settings: SquadTask(settings, sources),
                phases | {"do_eval": dev is not None},
                output_dir,
                options,
                Watching(callbacks, verbose),
                check_answers,
                sources,
            )
        )

    @classmethod
    @name_arguments_in_errors(absent=None)
    def load(
        cls,
        path: str | os.PathLike,
        n_best_size: int | None = None,
        max_answer_length: int | None = None,
        max_seq_length: int | None = None,
        do_lower_case: bool | None = None,
        precision: str | None = None,
        engine: str | None = None,
        hub_module: str | None = None,
        vocab_file: str | os.PathLike | None = None,
        gelu: str | None = None,
        doc_stride: int | None = None,
        max_query_length: int | None = None,
        num_threads: int | None = None,
    ) -> "QuestionAnswerer":
        """Load a run of bert-squad, or a checkpoint with vocabulary and config next to it.

        An argument with None uses the value next to the model, or else the default of bert-squad. A
        model that was trained with --version_2_with_negative may return no answer.

        Args:
            path: an output_dir of bert-squad or a checkpoint.
            n_best_size: number of answers in the n-best list.
            max_answer_length: maximum answer length in tokens.
            max_seq_length: window length in tokens.
            do_lower_case: whether to lower-case texts and strip accents.
            precision: auto, float32, bfloat16, float16 or int8.
            engine: auto, tensorflow, onnxruntime or openvino.
            hub_module: tensorflow-hub module that the model was trained on, as a handle. Needed if
                it is not a BERT and not in the model's directory.
            vocab_file: vocabulary, vocab.txt or tokenizer.json; None for the one next to the model.
            gelu: form of GELU: auto, erf or tanh.
            num_threads: number of threads; None for one per core.
            doc_stride: number of tokens from the start of one window to the next.
            max_query_length: maximum number of a question's tokens.

        Raises:
            InputError: if files are missing, damaged or do not belong together.
        """
        arguments = {
            "n_best_size": n_best_size,
            "max_answer_length": max_answer_length,
            "max_seq_length": max_seq_length,
            "do_lower_case": do_lower_case,
            "precision": precision,
            "engine": engine,
            "hub_module": hub_module,
            "vocab_file": vocab_file,
            "gelu": gelu,
            "num_threads": num_threads,
            "doc_stride": doc_stride,
            "max_query_length": max_query_length,
        }
        values = check_arguments(SquadSettings, arguments)
        checkpoint = find_model(path)
        check_command(checkpoint, SquadTask.command)
        settings, model = load_with_settings(checkpoint, SquadSettings, values)
        answerer = open_answerer(select_groups(AnswererSettings, settings), model)
        return remember_model_source(cls(answerer, settings, model), checkpoint, values)

    @name_arguments_in_errors()
    def answer(self, questions: Iterable[tuple[str, str]]) -> Answers:
        """Answer n pairs (question, context), and return an Answer for each, in their order.

        Args:
            questions: pairs in any sequence, or a table with the columns question and context, such
                as a pandas.DataFrame.
        """
        read = _read(questions)
        records = zip(self._records(read), read.pairs, strict=True)
        return Answers(read, [make_answer(record, context or "") for record, (_, context) in records])

    @name_arguments_in_errors(predict_file="data")
    def evaluate(self, data: Any, bootstrap: int = 0) -> dict[str, float]:
        """Return exact match and F1 for questions with answers, with the names in eval_results.txt.

        They are percentages, as in the official scorers of SQuAD.

        Args:
            data: a path, or questions in memory, as for `train`.
            bootstrap: number of samples for confidence intervals, such as 1000; f1_low and
                f1_high are the ends for f1. 0 for none.
        """
        sources = {} if is_path(data) else {"predict_file": number_questions("data", data)}
        phases: dict[str, Any] = {"do_train": False, "do_eval": True, "do_predict": False}
        path = path_text(data, "data") if is_path(data) else None
        values = {"predict_file": path} | check_arguments(SquadSettings, {"bootstrap": bootstrap})
        task = SquadTask(replace_values(self._settings, phases | values), sources)
        with contextlib.ExitStack() as stack:
            evaluation = task.evaluate(self._answerer.predictor, task.read(self._model, stack))
        results = {**evaluation.results, **evaluation.intervals().results()}
        return {name: float(value) for name, value in results.items()}

    @name_arguments_in_errors()
    def records(self, questions: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
        """Return one dict per pair (question, context), as in the JSON lines of bert-squad.

        See predicting.question_answerer.answer_record for the keys.
        """
        return self._records(_read(questions))

    def _records(self, questions: Texts) -> list[dict[str, Any]]:
        examples = [
            SquadExample(str(number), question, split_context(context or ""))
            for number, (question, context) in enumerate(questions.pairs)
        ]
        if not examples:
            return []
        predictions, cuts = self._answerer.answer(examples)
        self.on_cut(cuts, self._answerer.settings.task.max_query_length)
        return [answer_record(example, prediction) for example, prediction in zip(examples, predictions, strict=True)]


def _read(questions: object) -> Texts:
    read = read_texts_argument(questions, QUESTIONS, TextColumns("question", "context"), "questions")
    return dataclasses.replace(read, names=("question", "context"))
