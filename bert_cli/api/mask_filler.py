"""Predictions of masked words and next sentences for Python programs.

   from bert_cli import MaskFiller
   MaskFiller.load().fill("the dog sees a [MASK] .").masks[0][0].token

returns the most probable word for the [MASK]. `train` pre-trains a new model.
"""

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack, overload

from bert_cli.api.arguments import check_arguments
from bert_cli.api.inputs.documents import read_documents
from bert_cli.api.inputs.model_path import find_model
from bert_cli.api.inputs.new_model import NewModel
from bert_cli.api.inputs.options import PretrainOptions
from bert_cli.api.inputs.tables import is_path
from bert_cli.api.inputs.texts import SINGLE_TEXTS, list_items, read_texts_argument
from bert_cli.api.results.masked_words import (
    FilledText,
    FilledTexts,
    ScoredText,
    ScoredTexts,
    make_filled_text,
    make_scored_text,
)
from bert_cli.api.saving import remember_model_source
from bert_cli.api.training import PythonTraining, TrainableModel
from bert_cli.api.watching import Callback, Watching
from bert_cli.base.errors import check_count, check_text, name_arguments_in_errors, refuse_if
from bert_cli.base.names import PAIR_MARK
from bert_cli.corpus.text import MemoryText
from bert_cli.flags.option import build
from bert_cli.predicting.mask_filler import TextMaskFiller, open_mask_filler
from bert_cli.predicting.masked_scores import score_records, word_records
from bert_cli.predicting.opening import MaskFillerSettings, select_groups
from bert_cli.runs.tasks.pretraining import PretrainingTask
from bert_cli.settings.groups import TOP_K
from bert_cli.settings.preparation import BuildVocabSettings
from bert_cli.settings.pretraining import PretrainSettings
from bert_cli.settings.texts import FillMaskSettings


class MaskFiller(TrainableModel):
    """Model with heads for masked words and next sentences, made by `load` or `train`."""

    def __init__(self, filler: TextMaskFiller):
        self._filler = filler
        self._engine = filler.pretrained.engine

    @classmethod
    @name_arguments_in_errors(input_file="texts", eval_file="eval_texts", bert_config_file="config")
    def train(
        cls,
        texts: Any,
        config: Mapping[str, Any] | str | os.PathLike | None = None,
        vocab_size: int | None = None,
        eval_texts: Any = None,
        output_dir: str | os.PathLike | None = None,
        callbacks: Sequence[Callback] = (),
        verbose: int | None = None,
        **options: Unpack[PretrainOptions],
    ) -> "MaskFiller":
        """Pre-train as bert-pretrain does, and load the trained model.

        Without init_checkpoint or vocab_file among the options, a vocabulary is learned from the
        texts, as bert-build-vocab does.

        Args:
            texts: a path or pattern as for --input_file; documents in any sequence, each a text
                with one sentence per line, or a list of sentences; or a table with a column of
                documents.
            config: values of bert_config.json, such as {"hidden_size": 128, …}, or its path. None
                to use the config of init_checkpoint, or else the sizes of the small built-in
                network.
            vocab_size: size of the vocabulary to learn; None for the default of bert-build-vocab.
            eval_texts: texts to evaluate, in the same forms; None to hold out a share of the
                documents.
            output_dir: the run's directory. By default a temporary one that is deleted together
                with the model.
            callbacks, verbose: observers, and how much to show, see api.watching.Watching.
            options: flags of bert-pretrain without dashes. init_checkpoint continues the
                pre-training of a model.

        Raises:
            InputError: if bert-pretrain would refuse the texts or options. The message names
                arguments.
        """
        arguments = (("input_file", "texts", texts), ("eval_file", "eval_texts", eval_texts))
        in_memory = {
            flag: MemoryText(name, read_documents(name, data))
            for flag, name, data in arguments
            if not is_path(data) and (data is not None or flag == "input_file")
        }
        phases = {flag: data if data is None or is_path(data) else name for flag, name, data in arguments}
        with tempfile.TemporaryDirectory() as folder:
            size = check_arguments(BuildVocabSettings, {"vocab_size": vocab_size})["vocab_size"]
            new_model = NewModel(config, size, folder)
            training = PythonTraining(
                PretrainSettings,
                lambda settings: PretrainingTask(settings, in_memory, new_model.temporary_files(settings)),
                phases | {"do_eval": True, "bert_config_file": None},
                output_dir,
                options,
                Watching(callbacks, verbose),
                lambda settings: new_model.complete(settings, in_memory),
                in_memory,
            )
            with new_model.naming_files():
                return cls._load_trained(training)

    @classmethod
    @name_arguments_in_errors(absent=None, init_checkpoint="path")
    def load(
        cls,
        path: str | os.PathLike | None = None,
        do_lower_case: bool | None = None,
        precision: str | None = None,
        engine: str | None = None,
        vocab_file: str | os.PathLike | None = None,
        gelu: str | None = None,
        num_threads: int | None = None,
    ) -> "MaskFiller":
        """Load a pre-trained model.

        Args:
            path: an output_dir of bert-pretrain or a checkpoint in any format; None for the
                built-in model.
            do_lower_case: whether to lower-case texts and strip accents; None to use the model's
                setting.
            precision: auto, float32, bfloat16 or float16.
            engine: auto, tensorflow, onnxruntime or openvino.
            vocab_file: vocabulary, vocab.txt or tokenizer.json; None for the one next to the model.
            gelu: form of GELU: auto, erf or tanh.
            num_threads: number of threads; None for one per core.

        Raises:
            InputError: if files are missing, damaged or do not belong together, or if the model has
                no masked-LM head, for example after fine-tuning.
        """
        arguments = {
            "do_lower_case": do_lower_case,
            "precision": precision,
            "engine": engine,
            "vocab_file": vocab_file,
            "gelu": gelu,
            "num_threads": num_threads,
        }
        values = check_arguments(FillMaskSettings, arguments)
        settings = build(FillMaskSettings, {name: value for name, value in values.items() if value is not None})
        checkpoint = find_model(path)
        filler = open_mask_filler(select_groups(MaskFillerSettings, settings), checkpoint)
        return remember_model_source(cls(filler), checkpoint, values)

    @overload
    def fill(self, text: str, top_k: int | None = None, candidates: Sequence[str] | None = None) -> FilledText: ...  # type: ignore[overload-overlap]
    @overload
    def fill(
        self, text: Iterable[str], top_k: int | None = None, candidates: Sequence[str] | None = None
    ) -> FilledTexts: ...
    @name_arguments_in_errors(absent=["|||"])
    def fill(
        self, text: str | Iterable[str], top_k: int | None = None, candidates: Sequence[str] | None = None
    ) -> FilledText | FilledTexts:
        """Return the most probable tokens for each [MASK], or the probabilities of given words.

        Args:
            text: a text, texts in any sequence, or a table with a column of texts, such as a
                pandas.DataFrame.
            top_k: number of tokens per [MASK]; None for 5.
            candidates: words to rank instead, as in `bert-fill-mask --candidates`. A word of
                several pieces is read from left to right: its probability is the product of its
                pieces' probabilities.

        Returns:
            A FilledText, or a sequence of them if `text` is not a string.
        """
        read = None if isinstance(text, str) else read_texts_argument(text, SINGLE_TEXTS)
        singles = [str(text)] if read is None else read.singles
        if candidates is None:
            top_k = TOP_K if top_k is None else top_k
            check_count(top_k, "top_k")
            records = self._filler.records(singles, top_k)
        else:
            refuse_if(top_k is not None, "give top_k or candidates, not both: all candidates are ranked")
            records = word_records(self._filler, singles, _check_words(candidates))
        results = list(map(make_filled_text, records))
        return results[0] if read is None else FilledTexts(read, results)

    @overload
    def score(self, text: str) -> ScoredText: ...  # type: ignore[overload-overlap]
    @overload
    def score(self, text: Iterable[str]) -> ScoredTexts: ...
    @name_arguments_in_errors()
    def score(self, text: str | Iterable[str]) -> ScoredText | ScoredTexts:
        """Return how probable texts without [MASK] are, as `bert-fill-mask --score`.

        The pseudo-log-likelihood is the sum of each token's log-probability (natural logarithm) when
        it alone is masked (Salazar et al., 2020). Compare texts of the same length, or use the
        pseudo-perplexity.

        Args:
            text: a text, texts in any sequence, or a table with a column of texts.

        Returns:
            A ScoredText, or a sequence of them if `text` is not a string.
        """
        if isinstance(text, str):
            return make_scored_text(score_records(self._filler, [text])[0])
        read = read_texts_argument(text, SINGLE_TEXTS)
        return ScoredTexts(read, list(map(make_scored_text, score_records(self._filler, read.singles))))

    @name_arguments_in_errors()
    def records(self, texts: Iterable[str], top_k: int = TOP_K) -> list[dict[str, Any]]:
        """Return one dict per text, as in the JSON lines of bert-fill-mask.

        It has `text` and `masks`: for each [MASK] a list of {"token", "probability"}, best first.
        For two texts separated by ` ||| `, it also has `next_sentence_probability`.
        """
        check_count(top_k, "top_k")
        return self._filler.records(read_texts_argument(texts, SINGLE_TEXTS).singles, top_k)

    @name_arguments_in_errors(absent=["|||"])
    def next_sentence(self, text: str, text_b: str) -> float:
        """Return the probability that text_b follows text.

        Raises:
            InputError: if the model has no next-sentence head.
        """
        check_text(text)
        check_text(text_b, "text_b")
        refuse_if(
            self.source.is_builtin,
            "the built-in model was trained without next sentences; load Google's, or one of bert-pretrain",
        )
        follows = make_filled_text(self._filler.records([f"{text}{PAIR_MARK}{text_b}"], 1)[0]).next_sentence_probability
        assert follows is not None  # for a pair
        return follows


def _check_words(candidates: Sequence[str]) -> list[str]:
    """Return the words, unless they are not a sequence of texts."""
    words = list_items("candidates", candidates, 'a list of words, such as ["he", "she"],')
    refuse_if(not words, "candidates: no word")
    for number, word in enumerate(words):
        check_text(word, f"candidates[{number}]")
    return words
