"""A tagger from Python:

    from bert_cli import Tagger
    Tagger.load("bert_output").tag(["Zora lives in Kelm ."])[0].entities

is a list of {"type", "text", "start", "end", "score"}; `train` makes a new one.
"""

import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from bert_cli.api import loading
from bert_cli.api.arguments import named_arguments
from bert_cli.api.tables import is_path
from bert_cli.api.texts import list_items, single_texts
from bert_cli.base.errors import InputError
from bert_cli.examples.tagging import WORDS, TaggingExample, TaggingFile
from bert_cli.examples.text_lines import make_text_example
from bert_cli.outputs.tagging import TagPrediction, example_entities
from bert_cli.runs.engine.predictor import Predictor
from bert_cli.runs.loading.trained import load_with_settings
from bert_cli.runs.tasks import opening
from bert_cli.runs.tasks.tagging import TaggingTask, tag_examples
from bert_cli.runs.tasks.tagging_data import TaggingDataset, make_empty_dataset
from bert_cli.settings.tagging import TagSettings, window_stride


class TaggedText(NamedTuple):
    """`words` and their `tags`, as the training data writes them; `entities` as
    outputs.tagging.example_entities.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    entities: list[dict]


class Tagger(loading.Trained):
    """A model that bert-tag trained, or a Hugging Face token classifier with BIO labels. Made by
    `load` or `train`.

    `labels`: its L labels, in the order of its outputs. `report` and `output_dir`: of its training
    by `train`.
    """

    def __init__(self, session: Predictor, data: TaggingDataset, settings: TagSettings):
        self.labels = data.labels
        self._session = session
        self._data = data
        self._settings = settings

    @classmethod
    @named_arguments(train_file="train", dev_file="dev")
    def train(
        cls,
        train: Any,
        dev: Any = None,
        output_dir: str | os.PathLike | None = None,
        **options: Any,
    ) -> "Tagger":
        """Train as bert-tag does, and load what came of it.

        train, dev: a path as --train_file takes, or a list of sentences, each (words, tags) with as
        many of both. output_dir: by default a temporary folder, which lives as long as the tagger.
        options: flags of bert-tag without their dashes. Raises InputError as the command does,
        naming arguments, and train[n] for a sentence of a list.
        """
        given = (("train", train), ("dev", dev))
        tables = {name: _sentences(name, data) for name, data in given if data is not None and not is_path(data)}
        phases = {f"{name}_file": data if is_path(data) else None for name, data in given}
        return cls._run(
            TagSettings,
            lambda settings: TaggingTask(settings, tables),
            phases | {"do_eval": dev is not None},
            output_dir,
            options,
            lambda values: values.update(doc_stride=window_stride(values["doc_stride"], values["max_seq_length"])),
        )

    @classmethod
    @named_arguments()
    def load(
        cls,
        path: str,
        decoding: str | None = None,
        max_seq_length: int | None = None,
        doc_stride: int | None = None,
        do_lower_case: bool | None = None,
        precision: str | None = None,
        engine: str | None = None,
        hub_module: str | None = None,
    ) -> "Tagger":
        """Load from an output_dir of bert-tag, or a checkpoint with vocabulary, config and labels
        next to it.

        decoding: argmax, or viterbi, which forbids impossible sequences of tags. max_seq_length,
        doc_stride: in pieces; longer texts are cut into windows, each of which starts doc_stride
        pieces after the one before. By default as the model was trained, else as the flags of
        bert-tag. precision, engine: as the flags. hub_module: the handle of the module that the
        model was trained on, where it is not a BERT and does not lie in the model's folder. Raises
        InputError where something is missing, damaged, or does not fit together.
        """
        given = loading.flags_of(locals())
        checkpoint = loading.find(path, TaggingTask.command)
        settings, model = load_with_settings(checkpoint, TagSettings, given)
        task = TaggingTask(settings)
        data = make_empty_dataset(settings, model)
        return cls(opening.open_for_new_texts(task, model, data, settings), data, settings)

    @named_arguments()
    def tag(self, texts: Iterable[str]) -> list[TaggedText]:
        """Tag n texts; a text without words has no tags. Offsets of entities are characters of the
        text.
        """
        results = []
        for example, prediction in self._tagged(texts, "tagging"):
            tags = self._data.notation.encode(prediction.tags)
            entities = example_entities(example, prediction)["entities"]
            results.append(TaggedText(tuple(example.words), tags, entities))
        return results

    @named_arguments()
    def records(self, texts: Iterable[str]) -> list[dict[str, Any]]:
        """The answers to n texts, as JSON lines of --input_file have them: `text` and `entities`."""
        return [example_entities(example, prediction) for example, prediction in self._tagged(texts, None)]

    def _tagged(self, texts: Iterable[str], title: str | None) -> Iterator[tuple[TaggingExample, TagPrediction]]:
        examples = [make_text_example(text) for text in single_texts(texts)]
        # Texts without words stay among them, so that results keep the order of the texts.
        return zip(examples, tag_examples(self._session, self._data, self._settings, examples, title), strict=True)


def _sentences(name: str, data: Iterable[tuple[Iterable[str], Iterable[str]]]) -> TaggingFile:
    """Sentences in memory as a file of JSON lines has them, numbered from 0."""
    examples = []
    sentences = list_items(name, data, "a list of sentences (words, tags)", is_of_pairs=True)
    for number, sentence in enumerate(sentences):
        parts = [tuple(part) for part in sentence] if isinstance(sentence, tuple | list) else []
        if len(parts) != 2 or any(isinstance(part, str) for part in sentence) or len(parts[0]) != len(parts[1]):
            raise InputError(f"{name}:{number}: (words, tags) with as many of both is needed, found {sentence!r:.80}")
        wrong = next((part for part in (*parts[0], *parts[1]) if not isinstance(part, str) or not part), None)
        if wrong is not None:
            raise InputError(f"{name}:{number}: words and tags are texts, found {wrong!r:.80}")
        examples.append(TaggingExample(parts[0], parts[1], number))
    if not any(example.words for example in examples):
        raise InputError(f"{name}: holds no words; a list of sentences, each (words, tags), is needed")
    return TaggingFile(name, (), tuple(examples), WORDS)
