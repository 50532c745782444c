"""A tagger from Python, without files:

    from bert_cli import Tagger
    Tagger.load("bert_output").tag(["Zora lives in Kelm ."])[0].entities

is a list of {"type", "text", "start", "end", "score"}.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bert_cli.api import loading
from bert_cli.examples.tag_schemes import from_bio
from bert_cli.examples.tagging_text import text_example
from bert_cli.features.tagging import tagging_features
from bert_cli.outputs.tagging import example_entities, predict_tags
from bert_cli.runs import driver
from bert_cli.runs.tagging import TaggingTask, log_probabilities
from bert_cli.runs.tagging_data import TaggingData, find_layers, scheme_of, trained_labels
from bert_cli.settings.tagging import TagSettings
from bert_cli.text.tokenization import FullTokenizer

if TYPE_CHECKING:
    from bert_cli.runs.session import Session


class TaggedText(NamedTuple):
    """`words` and their `tags`, in the scheme of the training data; `entities` as outputs.tagging.example_entities."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    entities: list[dict]


class Tagger:
    """A model that bert-tag trained, or a Hugging Face token classifier with BIO labels. Made by `load`.

    `labels`: its L labels, in the order of its outputs.
    """

    def __init__(self, session: "Session", tokenizer: FullTokenizer, labels: tuple[str, ...], settings: TagSettings):
        self.labels = labels
        self._session, self._tokenizer, self._settings = session, tokenizer, settings

    @classmethod
    def load(
        cls,
        path: str,
        decoding: str | None = None,
        max_seq_length: int | None = None,
        doc_stride: int | None = None,
        do_lower_case: bool | None = None,
        precision: str | None = None,
        hub_module: str | None = None,
    ) -> "Tagger":
        """Load from an output_dir of bert-tag, or a checkpoint with vocabulary, config and labels beside it.

        decoding: argmax, or viterbi, which forbids impossible sequences of tags. max_seq_length, doc_stride: in pieces;
        longer texts are cut into windows, of which each starts doc_stride pieces behind the one before. By default as the
        model was trained, else as the flags of bert-tag. hub_module: the handle of the module that the model was trained on,
        where it is no BERT and does not lie in the model's folder. Raises InputError where something is missing, damaged, or
        does not fit together.
        """
        checkpoint = loading.find(path)
        given: dict[str, Any] = {
            "max_seq_length": max_seq_length,
            "doc_stride": doc_stride,
            "do_lower_case": do_lower_case,
        }
        given |= {"decoding": decoding, "precision": precision, "hub_module": hub_module}
        settings, model = loading.open_model(checkpoint, TagSettings, given)
        task = TaggingTask(settings)
        task.data = TaggingData(trained_labels(checkpoint), scheme_of(settings.task.tag_scheme), {})
        task.layers = find_layers(settings.tagger.layers, False, model.config)
        session = driver.open_trained(task, model, settings)
        return cls(session, model.tokenizer, task.data.labels, settings)

    def tag(self, texts: Sequence[str]) -> list[TaggedText]:
        """Tag n texts; a text without words has no tags. Offsets of entities are characters of the text."""
        loading.check_texts(texts, "tag")
        examples = [text_example(text) for text in texts]
        worded = [example for example in examples if example.words]
        if not worded:
            return [TaggedText((), (), []) for _ in texts]
        settings, length = self._settings, self._settings.length.max_seq_length
        stride = settings.stride.pieces(length)
        features = tagging_features(worded, self.labels, self._tokenizer, length, stride)
        windows = log_probabilities(self._session, features, settings.prediction.predict_batch_size, "tagging")
        found = iter(predict_tags(features, windows, self.labels, settings.single.decoding))
        scheme = scheme_of(settings.task.tag_scheme)
        results = []
        for example in examples:
            if not example.words:
                results.append(TaggedText((), (), []))
                continue
            prediction = next(found)
            tags = tuple(from_bio(prediction.tags, scheme))
            entities = example_entities(example, prediction)["entities"]
            results.append(TaggedText(tuple(example.words), tags, entities))
        return results
