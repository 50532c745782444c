"""Answers to questions from Python, without files:

    from bert_cli import QuestionAnswerer
    QuestionAnswerer.load("bert_output").answer([("Where does Zora live?", "Zora lives in Kelm.")])[0]["answer"]

is a part of the context, "" for no answer.
"""

from collections.abc import Sequence

from bert_cli.api import loading
from bert_cli.base.errors import InputError
from bert_cli.examples.squad import SquadExample, split_context
from bert_cli.features.squad import check_lengths
from bert_cli.outputs.squad import check_rules
from bert_cli.runs.questions import answer, answer_record
from bert_cli.runs.squad_settings import REMEMBERED, Settings, answer_rules, define_flags
from bert_cli.training.host import prepare_host


class QuestionAnswerer:
    """A model that bert-squad trained, or a Hugging Face model of its kind. Made by `load`."""

    def __init__(self, session, tokenizer, rules):
        self._session, self._tokenizer, self._rules = session, tokenizer, rules

    @classmethod
    def load(
        cls,
        path: str,
        n_best_size: int = 20,
        max_answer_length: int = 30,
        max_seq_length: int | None = None,
        do_lower_case: bool | None = None,
        precision: str = "auto",
        hub_module: str | None = None,
    ) -> "QuestionAnswerer":
        """Load from an output_dir of bert-squad, or a checkpoint with vocabulary and config beside it.

        n_best_size: answers in the n-best list; max_answer_length: in tokens; max_seq_length: tokens of a window. A
        model that was trained with --version_2_with_negative may say that there is no answer. hub_module: the handle of
        the module that the model was trained on, where it is no BERT and does not lie in the model's folder. Raises
        InputError where something is missing, damaged, or does not fit together.
        """
        checkpoint = loading.find(path)
        given = {"n_best_size": n_best_size, "max_answer_length": max_answer_length, "max_seq_length": max_seq_length}
        given |= {
            "do_lower_case": do_lower_case,
            "precision": precision,
            "init_checkpoint": checkpoint.location,
            "hub_module": hub_module,
        }
        settings, model = loading.open_model(checkpoint, Settings, define_flags, REMEMBERED, given)
        check_lengths(settings.max_seq_length, settings.doc_stride, settings.max_query_length)
        rules = answer_rules(settings)
        check_rules(rules)

        prepare_host()
        from bert_cli.runs.squad import SquadSession

        session = SquadSession(model.config, settings)
        session.load_trained(checkpoint)
        return cls(session, model.tokenizer, rules)

    def answer(self, questions: Sequence[tuple[str, str]]) -> list[dict]:
        """Answer n pairs (question, context), in their order.

        Each record is as JSON lines of bert-squad have it (see answer_questions.answer_record): `answer`, its
        `probability` among the `nbest`, `start` and `end` in characters of the context, and the `sentence` around it.
        """
        examples = [_example(number, pair) for number, pair in enumerate(questions)]
        if not examples:
            return []
        predictions = answer(self._session, examples, self._tokenizer, self._rules)
        return [answer_record(example, found) for example, found in zip(examples, predictions, strict=True)]


def _example(number: int, pair) -> SquadExample:
    if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(text, str) for text in pair):
        raise InputError(f"questions[{number}]: a pair (question, context) is needed, found {pair!r}")
    return SquadExample(str(number), pair[0], split_context(pair[1]))
