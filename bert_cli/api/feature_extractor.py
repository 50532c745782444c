"""Vectors of texts for Python programs.

   from bert_cli import FeatureExtractor
   FeatureExtractor.load("pretrained").extract(["the dog sees a cat .", "a cat sleeps ."])

returns a float32 array with one row per text. `train` trains vectors on pairs of texts.
"""

import dataclasses
import functools
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, Literal, TypeVar, Unpack, cast, overload

from bert_cli.api.arguments import check_arguments
from bert_cli.api.inputs.model_path import find_model
from bert_cli.api.inputs.options import VectorOptions
from bert_cli.api.inputs.tables import Data, is_path, read_rows_of_texts
from bert_cli.api.inputs.texts import SINGLE_TEXTS, Pair, read_texts_argument
from bert_cli.api.inputs.trained_columns import trained_columns
from bert_cli.api.results.attention import Attention
from bert_cli.api.results.vectors import TokenFeatures, TokenVectors, Vectors, make_vectors
from bert_cli.api.saving import remember_model_source
from bert_cli.api.training import PythonTraining, TrainableModel
from bert_cli.api.watching import Callback, Watching
from bert_cli.base.errors import InputError, check_text, name_arguments_in_errors
from bert_cli.base.log import LOG
from bert_cli.base.pooling import NONE
from bert_cli.examples.text_lines import make_line
from bert_cli.features.packing import NOT_CUT, CutCounts, CuttingModel
from bert_cli.model.config import ModuleConfig
from bert_cli.opening.checkpoints import model_to_use
from bert_cli.opening.trained import load_with_settings
from bert_cli.outputs.vectors.rows import FeatureRows
from bert_cli.predicting.opening import VectorSettings, select_groups
from bert_cli.predicting.vector_recipe import DEFAULT_LENGTH, VectorFlags, choose_recipe
from bert_cli.predicting.vectors import TextVectors, VectorModel, open_vector_model, open_vectors
from bert_cli.runs.extraction.shown_attention import encode_shown_text
from bert_cli.runs.tasks.vectors.task import VectorTask
from bert_cli.sentence.modules import SentenceModules
from bert_cli.settings.answering import Extraction
from bert_cli.settings.devices import Devices
from bert_cli.settings.groups import LAST_LAYER, HubEncoder, ModelFiles
from bert_cli.settings.texts import ExtractSettings
from bert_cli.settings.vectors import VectorTrainingSettings

# Argument of `load` that chooses the vectors -> its default.
_CHOICES = {"pooling": None, "layers": None, "normalize": None, "prompt_name": None, "long_text": False}
# What `extract` returns. With pooling="none" these are TokenVectors.
Result = TypeVar("Result", bound=Vectors | TokenVectors)


class FeatureExtractor(TrainableModel, CuttingModel, Generic[Result]):
    """Encoder that turns texts into vectors, made by `load` from any checkpoint, or by `train`.

    Attributes:
        width: W, the length of a vector.
    """

    def __init__(self, vectors: TextVectors, devices: Devices):
        self._vectors = vectors
        self._devices = devices
        self._columns = trained_columns(vectors.model)
        self._engine = vectors.vector_model.engine
        self.width = vectors.width

    @classmethod
    @name_arguments_in_errors(train_file="train", dev_file="dev")
    def train(
        cls,
        train: Data,
        dev: Data = None,
        output_dir: str | os.PathLike | None = None,
        callbacks: Sequence[Callback] = (),
        verbose: int | None = None,
        **options: Unpack[VectorOptions],
    ) -> "FeatureExtractor[Vectors]":
        """Train sentence vectors as bert-train-vectors does, and load the trained model.

        Args:
            train: training data: a path as for --train_file, a pandas.DataFrame, or a list. List
                items are dicts such as {"anchor": …, "positive": …}, or tuples: (text, text) for
                texts that belong together, (text, text, score), or (text, text, negative, …).
            dev: data to evaluate, in the same forms; None for no evaluation.
            output_dir: the run's directory. By default a temporary one that is deleted together
                with the extractor.
            callbacks, verbose: observers, and how much to show, see api.watching.Watching.
            options: flags of bert-train-vectors without dashes. The most common ones:
                init_checkpoint (the built-in model), loss="auto", num_train_epochs (3.0; 4.0 for
                small models), learning_rate (2e-5; up to 1.2e-4 for small models),
                train_batch_size=32, max_seq_length=128, pooling, random_seed=12345.

        Returns:
            The extractor, with one vector per text.

        Raises:
            InputError: if bert-train-vectors would refuse the data or options. The message names
                arguments, and train[n] for a row in a list.
        """
        arguments = (("train", train), ("dev", dev))
        in_memory = [(name, data) for name, data in arguments if data is not None and not is_path(data)]
        tables = {name: read_rows_of_texts(name, data) for name, data in in_memory}
        phases = {f"{name}_file": data if is_path(data) else None for name, data in arguments}
        training = PythonTraining(
            VectorTrainingSettings,
            lambda settings: VectorTask(settings, tables),
            phases | {"do_eval": dev is not None},
            output_dir,
            options,
            Watching(callbacks, verbose),
        )
        return cast("FeatureExtractor[Vectors]", cls._load_trained(training))

    @overload
    @classmethod
    def load(  # type: ignore[overload-overlap]
        cls,
        path: str | os.PathLike | None = ...,
        *,
        pooling: Literal["none"],
        layers: str | int | Sequence[int | str] | None = ...,
        normalize: bool | None = ...,
        max_seq_length: int | None = ...,
        long_text: bool = ...,
        do_lower_case: bool | None = ...,
        precision: str = ...,
        engine: str = ...,
        hub_module: str | None = ...,
        hub_preprocess: str | None = ...,
        prompt_name: str | None = ...,
        vocab_file: str | os.PathLike | None = ...,
        gelu: str | None = ...,
        num_threads: int | None = ...,
    ) -> "FeatureExtractor[TokenVectors]": ...
    @overload
    @classmethod
    def load(
        cls,
        path: str | os.PathLike | None = ...,
        pooling: str | None = ...,
        layers: str | int | Sequence[int | str] | None = ...,
        normalize: bool | None = ...,
        max_seq_length: int | None = ...,
        long_text: bool = ...,
        do_lower_case: bool | None = ...,
        precision: str = ...,
        engine: str = ...,
        hub_module: str | None = ...,
        hub_preprocess: str | None = ...,
        prompt_name: str | None = ...,
        vocab_file: str | os.PathLike | None = ...,
        gelu: str | None = ...,
        num_threads: int | None = ...,
    ) -> "FeatureExtractor[Vectors]": ...
    @classmethod
    @name_arguments_in_errors(absent=None, init_checkpoint="path")
    def load(
        cls,
        path: str | os.PathLike | None = None,
        pooling: str | None = Extraction.pooling,
        layers: str | int | Sequence[int | str] | None = Extraction.layers,
        normalize: bool | None = Extraction.normalize,
        max_seq_length: int | None = None,
        long_text: bool = Extraction.long_text,
        do_lower_case: bool | None = None,
        precision: str = ExtractSettings().devices.precision,
        engine: str = ExtractSettings().devices.engine,
        hub_module: str | None = None,
        hub_preprocess: str | None = None,
        prompt_name: str | None = Extraction.prompt_name,
        vocab_file: str | os.PathLike | None = None,
        gelu: str | None = None,
        num_threads: int | None = None,
    ) -> "FeatureExtractor[Any]":
        """Load a checkpoint with vocabulary and config next to it.

        Args:
            path: a checkpoint or an output_dir; None for the built-in model.
            pooling: mean, cls, max, mean_sqrt_len, weighted_mean or last, several of them such as
                "cls,mean", or pooler, for one vector per text; none for one per token. None to use
                the modules in a directory of sentence-transformers, or the mean.
            layers: layers as in --layers, or a list of them. Their vectors are concatenated. None
                for the last layer.
            normalize: whether to divide each vector by its length; None to use the model's modules,
                or False.
            max_seq_length: maximum length in tokens; longer texts are cut. None to use the length
                in the model's files, at most its positions; 128 for a run of bert_cli.
            long_text: whether to compute longer texts in windows that overlap by half, instead of
                cutting them.
            do_lower_case: whether to lower-case texts and strip accents; None to use the model's
                setting.
            precision: auto, float32, bfloat16, float16 or int8.
            engine: auto, tensorflow, onnxruntime or openvino.
            hub_module: a tensorflow-hub module, as a handle. Without `path`, it is the encoder
                itself. Otherwise it is the encoder that the model was trained on, needed if it is
                not a BERT and not in the model's directory.
            hub_preprocess: the module's preprocessor, for vocabulary and casing.
            prompt_name: the prompt in the files of sentence-transformers to put before each text;
                None for the model's default.
            vocab_file: vocabulary, vocab.txt or tokenizer.json; None for the one next to the model.
            gelu: form of GELU: auto, erf or tanh.
            num_threads: number of threads; None for one per core.

        Raises:
            InputError: if files are missing, damaged or do not belong together.
        """
        arguments = {
            "pooling": pooling,
            "layers": layers,
            "normalize": normalize,
            "max_seq_length": max_seq_length,
            "long_text": long_text,
            "do_lower_case": do_lower_case,
            "precision": precision,
            "engine": engine,
            "hub_module": hub_module,
            "hub_preprocess": hub_preprocess,
            "prompt_name": prompt_name,
            "vocab_file": vocab_file,
            "gelu": gelu,
            "num_threads": num_threads,
        }
        values = check_arguments(ExtractSettings, arguments)
        pooling = values["pooling"]
        if path is None:
            checkpoint = model_to_use(ModelFiles(), HubEncoder(hub_module=hub_module)).find()
            values["hub_module"] = None  # already used as the checkpoint
        else:
            checkpoint = find_model(path)
        # Do not use the training run's layers and lengths, which were chosen for another purpose.
        settings, model = load_with_settings(checkpoint, ExtractSettings, values, remembers=False)
        # Vectors of tokens are the last layer's here, too.
        layers = values["layers"] or (LAST_LAYER if pooling == NONE else None)
        length = values["max_seq_length"] or 0
        chosen = VectorFlags(pooling, layers, values["normalize"], length, values["prompt_name"], values["long_text"])
        length = settings.encoding.max_seq_length or DEFAULT_LENGTH
        recipe = choose_recipe(chosen, model.folder, model.config, default_length=length)
        vectors = open_vectors(select_groups(VectorSettings, settings), model, recipe)
        return remember_model_source(cls(vectors, settings.devices), checkpoint, values)

    @name_arguments_in_errors()
    def extract(self, texts: Iterable[str | tuple[str, str]]) -> Result:
        """Return the vectors of n texts or pairs of texts, in their order.

        Besides the result, only one chunk of texts is in memory.

        Args:
            texts: texts, or pairs (text, text_b), in any sequence; or a table with a column of
                texts, such as a pandas.DataFrame.

        Returns:
            A float32 array [n, W], or a sequence of n TokenFeatures with pooling="none". Both have
            `to_frame`.
        """
        # Check all texts first, because an error after minutes of work would lose the results.
        read = read_texts_argument(texts, columns=self._columns)
        pairs = read.pairs
        if self._vectors.vector_model.choice.pooling == NONE:
            return cast(Result, TokenVectors(read, self._tokens(pairs), self.width))
        extracted = self._vectors.extract(pairs)
        self._report(extracted.cuts)
        return cast(Result, make_vectors(extracted.vectors, read))

    @name_arguments_in_errors()
    def count_tokens(self, texts: Iterable[str]) -> list[int]:
        """Return how many tokens of each text the vectors use, including [CLS] and [SEP]."""
        return self._vectors.count_tokens(read_texts_argument(texts, SINGLE_TEXTS, self._columns).singles)

    @name_arguments_in_errors()
    def attention(self, text: str, text_b: str | None = None) -> Attention:
        """Return the attention of all layers and heads in a text or a pair of texts.

        The first call loads the model again, with attention among its outputs.

        Args:
            text: the text; a longer one than `max_seq_length` is cut.
            text_b: the second text of a pair.

        Raises:
            InputError: if the model's files have changed, or a tensorflow-hub module or int8
                computes it.
        """
        check_text(text)
        if text_b is not None:
            check_text(text_b, "text_b")
        line = make_line(0, text, text_b)
        length = self._vectors.max_seq_length
        features, tokens = encode_shown_text(line, self._vectors.model.tokenizer, length)
        weights = self._attention_model.extract(features)[1][0]
        self.on_cut(features.cuts, length)
        return Attention(text, text_b, self._facts()["model"], tuple(tokens), weights)

    @functools.cached_property
    def _attention_model(self) -> VectorModel:
        """Return the model with attention among its outputs, which makes it slower."""
        model = self._vectors.model
        if isinstance(model.config, ModuleConfig):
            raise InputError(f"{model.config.hub_module}: this module shows no attention")
        self.source.check_unchanged()
        choice = dataclasses.replace(self._vectors.vector_model.choice, with_attention=True)
        return open_vector_model(model, self._devices.for_answers(True), choice)

    def _chosen_modules(self) -> SentenceModules | None:
        recipe = self._vectors.recipe
        arguments = self.source.arguments
        chosen = {name: arguments[name] for name, default in _CHOICES.items() if arguments[name] is not default}
        if not (chosen or recipe.is_followed):
            return None
        modules = recipe.to_modules(self._vectors.model.config.hidden_size)
        if modules is None and chosen:
            choices = ", ".join(f"{name}={value!r}" for name, value in chosen.items())
            LOG.warning(
                "warning: no modules of sentence-transformers compute vectors with %s, so the directory has no modules "
                "for them; pass these arguments to the next load, too",
                choices,
            )
        return modules

    def _tokens(self, pairs: list[Pair]) -> list[TokenFeatures]:
        """Return the vectors of the texts' tokens, text by text."""
        tokens: list[TokenFeatures] = []
        cuts = NOT_CUT
        for rows, features in self._vectors.rows(pairs):
            tokens += _split_rows(rows)
            cuts += features.cuts
        self._report(cuts)
        return tokens

    def _report(self, cuts: CutCounts) -> None:
        self.on_cut(cuts, self._vectors.max_seq_length)


def _split_rows(rows: FeatureRows) -> Iterator[TokenFeatures]:
    values = rows.values[:, 0]
    for start, end in itertools.pairwise(rows.offsets.tolist()):
        yield TokenFeatures(rows.columns["token"][start:end], values[start:end])
