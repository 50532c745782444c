"""Token tagger for Python programs.

   from bert_cli import Tagger
   Tagger.load("bert_output").tag(["Zora lives in Kelm ."])[0].entities

returns a list of {"type", "text", "start", "end", "score"}. `train` trains a new tagger.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Unpack, overload

from bert_cli.api.arguments import check_arguments
from bert_cli.api.inputs.model_path import find_model
from bert_cli.api.inputs.options import TagOptions
from bert_cli.api.inputs.sentences import make_words_example, read_sentences, read_texts_or_words
from bert_cli.api.inputs.tables import is_path
from bert_cli.api.inputs.texts import Texts
from bert_cli.api.results.cross_validation import CrossValidation
from bert_cli.api.results.tags import TaggedText, TaggedTexts
from bert_cli.api.saving import remember_model_source
from bert_cli.api.training import PythonTraining, TrainableModel
from bert_cli.api.watching import Callback, Watching
from bert_cli.base.errors import name_arguments_in_errors, refuse_if
from bert_cli.examples.tagging import TaggingExample
from bert_cli.examples.token_files.notation import TagNotation, make_notation_flags
from bert_cli.flags.option import replace_values
from bert_cli.flags.paths import path_text
from bert_cli.opening.bundle import AnyModel
from bert_cli.opening.trained import check_command, load_with_settings
from bert_cli.outputs.answers.tagging import TagPrediction, TextEntities, example_entities
from bert_cli.predicting.opening import TaggerSettings, select_groups
from bert_cli.predicting.tagger import TextTagger, open_tagger
from bert_cli.runs.tasks.tagging import TaggingTask
from bert_cli.runs.tasks.tagging_data import read_tagging_data
from bert_cli.settings.tagging import TagSettings, with_stride


class Tagger(TrainableModel):
    """Token tagger, made by `load` or `train`.

    The model may be trained by bert-tag, or be a Hugging Face token classifier with BIO labels.

    Attributes:
        labels: L label names, one per output, in order.
    """

    def __init__(self, tagger: TextTagger, settings: TagSettings, model: AnyModel):
        self.labels = tagger.labels
        self._settings = settings
        self._model = model
        self._tagger = tagger
        self._engine = tagger.predictor.engine

    @overload
    @classmethod
    def train(
        cls,
        train: Any,
        *,
        cross_validation: int,
        output_dir: str | os.PathLike | None = None,
        callbacks: Sequence[Callback] = (),
        verbose: int | None = None,
        **options: Unpack[TagOptions],
    ) -> CrossValidation: ...
    @overload
    @classmethod
    def train(
        cls,
        train: Any,
        dev: Any = None,
        output_dir: str | os.PathLike | None = None,
        callbacks: Sequence[Callback] = (),
        verbose: int | None = None,
        **options: Unpack[TagOptions],
    ) -> "Tagger": ...
    @classmethod
    @name_arguments_in_errors(train_file="train", dev_file="dev")
    def train(
        cls,
        train: Any,
        dev: Any = None,
        output_dir: str | os.PathLike | None = None,
        callbacks: Sequence[Callback] = (),
        verbose: int | None = None,
        **options: Any,
    ) -> "Tagger | CrossValidation":
        """Train as bert-tag does, and load the trained model.

        Args:
            train: training data: a path as for --train_file; a list of sentences, each (words,
                tags), a list of (word, tag), or a dict such as {"tokens": …, "ner_tags": …}; or a
                table with a word or a sentence per row. For tags that are numbers, the option
                labels has their names.
            dev: data to evaluate, in the same forms; None for no evaluation.
            output_dir: the run's directory. By default a temporary one that is deleted together
                with the tagger.
            callbacks, verbose: observers, and how much to show, see api.watching.Watching.
            options: flags of bert-tag without dashes. The most common ones: init_checkpoint
                (the built-in model), num_train_epochs (3.0; 4.0 for small models), learning_rate
                (5e-5; up to 3e-4 for small models), train_batch_size=16, max_seq_length=128,
                freeze_encoder=False, random_seed=12345.

        Returns:
            The tagger; with cross_validation=k a CrossValidation, because no model remains.

        Raises:
            InputError: if bert-tag would refuse the data or options. The message names arguments,
                and train[n] for a sentence in a list.
        """
        arguments = (("train", train), ("dev", dev))
        tables = {
            name: read_sentences(name, data, options)
            for name, data in arguments
            if data is not None and not is_path(data)
        }
        phases = {f"{name}_file": data if is_path(data) else None for name, data in arguments}
        refuse_if(
            dev is not None and options.get("cross_validation"),
            "--dev_file and --cross_validation: give one of them; each fold is held out once",
        )
        training = PythonTraining(
            TagSettings,
            lambda settings: TaggingTask(settings, tables),
            phases | {"do_eval": dev is not None},
            output_dir,
            options,
            Watching(callbacks, verbose),
            with_stride,
        )
        return training.cross_validate() if options.get("cross_validation") else cls._load_trained(training)

    @classmethod
    @name_arguments_in_errors(absent=None)
    def load(
        cls,
        path: str | os.PathLike,
        decoding: str | None = None,
        max_seq_length: int | None = None,
        doc_stride: int | None = None,
        do_lower_case: bool | None = None,
        precision: str | None = None,
        engine: str | None = None,
        hub_module: str | None = None,
        vocab_file: str | os.PathLike | None = None,
        gelu: str | None = None,
        num_threads: int | None = None,
    ) -> "Tagger":
        """Load a run of bert-tag, or a checkpoint with vocabulary, config and labels next to it.

        An argument with None uses the value next to the model, or else the default of bert-tag.

        Args:
            path: an output_dir of bert-tag or a checkpoint.
            decoding: argmax, or viterbi, which forbids impossible tag sequences.
            max_seq_length: window length in word pieces; longer texts are split into windows.
            doc_stride: number of word pieces from the start of one window to the next.
            do_lower_case: whether to lower-case texts and strip accents.
            precision: auto, float32, bfloat16, float16 or int8.
            engine: auto, tensorflow, onnxruntime or openvino.
            hub_module: tensorflow-hub module that the model was trained on, as a handle. Needed if
                it is not a BERT and not in the model's directory.
            vocab_file: vocabulary, vocab.txt or tokenizer.json; None for the one next to the model.
            gelu: form of GELU: auto, erf or tanh.
            num_threads: number of threads; None for one per core.

        Raises:
            InputError: if files are missing, damaged or do not belong together.
        """
        arguments = {
            "decoding": decoding,
            "max_seq_length": max_seq_length,
            "doc_stride": doc_stride,
            "do_lower_case": do_lower_case,
            "precision": precision,
            "engine": engine,
            "hub_module": hub_module,
            "vocab_file": vocab_file,
            "gelu": gelu,
            "num_threads": num_threads,
        }
        values = check_arguments(TagSettings, arguments)
        checkpoint = find_model(path)
        check_command(checkpoint, TaggingTask.command)
        settings, model = load_with_settings(checkpoint, TagSettings, values)
        tagger = open_tagger(select_groups(TaggerSettings, settings), model)
        return remember_model_source(cls(tagger, settings, model), checkpoint, values)

    @name_arguments_in_errors()
    def tag(self, texts: Iterable[str | Sequence[str]]) -> TaggedTexts:
        """Tag n texts, and return a TaggedText for each, in their order.

        A text without words has no tags. Entity offsets count characters of the text.

        Args:
            texts: texts in any sequence, or a table with a column of texts, such as a
                pandas.DataFrame. A list of words is tagged word by word; its text has spaces
                between the words.
        """
        read, words = read_texts_or_words(texts)
        notation = TagNotation.of_flags(make_notation_flags(self._tagger.settings.task))
        results = []
        for text, (example, prediction) in zip(read.singles, self._tag(read, words, "tagging"), strict=True):
            tags = notation.encode(prediction.tags)
            entities = [dict(entity) for entity in example_entities(example, prediction)["entities"]]
            results.append(TaggedText(text, tuple(example.words), tags, entities))
        return TaggedTexts(read, results)

    @name_arguments_in_errors(dev_file="data")
    def evaluate(self, data: Any, bootstrap: int = 0) -> dict[str, float]:
        """Return the metrics for sentences with tags, with the names in eval_results.txt.

        Like conlleval's, they are percentages of whole entities.

        Args:
            data: a path, or sentences in memory, as for `train`.
            bootstrap: number of samples for confidence intervals, such as 1000; eval_f1_low and
                eval_f1_high are the ends for eval_f1. 0 for none.
        """
        path = path_text(data, "data") if is_path(data) else ""
        tables = {} if path else {"dev": read_sentences("data", data, {})}
        phases = {"do_train": False, "do_eval": True, "do_predict": False}
        values = {"dev_file": path or None} | check_arguments(TagSettings, {"bootstrap": bootstrap})
        settings = replace_values(self._settings, phases | values)
        dataset = read_tagging_data(settings, self._model, tables)
        evaluation = TaggingTask(settings).evaluate(self._tagger.predictor, dataset)
        results = {**evaluation.results, **evaluation.intervals().results()}
        return {name: float(value) for name, value in results.items()}

    @name_arguments_in_errors()
    def records(self, texts: Iterable[str | Sequence[str]]) -> list[TextEntities]:
        """Return a dict with `text` and `entities` per text, as in the JSON lines for --input_file."""
        tagged = self._tag(*read_texts_or_words(texts), None)
        return [example_entities(example, prediction) for example, prediction in tagged]

    def _tag(
        self, texts: Texts, words: Sequence[tuple[str, ...]] | None, title: str | None
    ) -> Iterator[tuple[TaggingExample, TagPrediction]]:
        # Keep texts without words, so that results are in the order of the texts.
        examples = self._tagger.split(texts.singles) if words is None else list(map(make_words_example, words))
        return zip(examples, self._tagger.tag(examples, title), strict=True)
