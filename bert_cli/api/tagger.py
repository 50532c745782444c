"""A tagger from Python, without files:

    from bert_cli import Tagger
    Tagger.load("bert_output").tag(["Zora lives in Kelm ."])[0].entities

is a list of {"type", "text", "start", "end", "score"}.
"""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from bert_cli.api import loading
from bert_cli.examples.tag_schemes import from_bio
from bert_cli.examples.tagging_text import text_example
from bert_cli.features.tagging import tagging_features
from bert_cli.outputs.tagging import example_entities, predict_tags
from bert_cli.run_tagging import REMEMBERED, Settings, define_flags
from bert_cli.runs.tagging_data import find_layers, parse_layers, trained_labels
from bert_cli.training.host import prepare_host


class TaggedText(NamedTuple):
    """`words` and their `tags`, in the scheme of the training data; `entities` as outputs.tagging.example_entities."""

    words: tuple[str, ...]
    tags: tuple[str, ...]
    entities: list[dict]


class Tagger:
    """A model that bert-tag trained, or a Hugging Face token classifier with BIO labels. Made by `load`.

    `labels`: its L labels, in the order of its outputs.
    """

    def __init__(self, session, tokenizer, labels: tuple[str, ...], settings):
        self.labels = labels
        self._session, self._tokenizer, self._settings = session, tokenizer, settings

    @classmethod
    def load(
        cls,
        path: str,
        decoding: str = "argmax",
        max_seq_length: int | None = None,
        do_lower_case: bool | None = None,
        precision: str = "auto",
        hub_module: str | None = None,
    ) -> "Tagger":
        """Load from an output_dir of bert-tag, or a checkpoint with vocabulary, config and labels beside it.

        decoding: argmax, or viterbi, which forbids impossible sequences of tags. max_seq_length: in tokens; longer
        texts are cut into windows. hub_module: the handle of the module that the model was trained on, where it is no
        BERT and does not lie in the model's folder. Raises InputError where something is missing, damaged, or does not
        fit together.
        """
        checkpoint = loading.find(path)
        given = {"max_seq_length": max_seq_length, "do_lower_case": do_lower_case}
        given |= {
            "decoding": decoding,
            "precision": precision,
            "init_checkpoint": checkpoint.location,
            "hub_module": hub_module,
        }
        settings, model = loading.open_model(checkpoint, Settings, define_flags, REMEMBERED, given)
        labels = trained_labels(checkpoint)
        chosen = parse_layers(settings.layers) if isinstance(settings.layers, str) else settings.layers
        settings = dataclasses.replace(
            settings,
            layers=find_layers(chosen, False, model.config),
            doc_stride=settings.doc_stride or max(1, settings.max_seq_length // 2),
        )

        prepare_host()
        from bert_cli.runs.tagging import TaggingSession

        session = TaggingSession(model.config, len(labels), settings)
        session.load_trained(checkpoint)
        return cls(session, model.tokenizer, labels, settings)

    def tag(self, texts: Sequence[str]) -> list[TaggedText]:
        """Tag n texts; a text without words has no tags. Offsets of entities are characters of the text."""
        loading.check_texts(texts, "tag")
        examples = [text_example(text) for text in texts]
        worded = [example for example in examples if example.words]
        if not worded:
            return [TaggedText((), (), []) for _ in texts]
        settings = self._settings
        features = tagging_features(worded, self.labels, self._tokenizer, settings.max_seq_length, settings.doc_stride)
        windows = self._session.log_probabilities(features, settings.predict_batch_size, "tagging")
        found = iter(predict_tags(features, windows, self.labels, settings.decoding))
        scheme = "BIO" if settings.tag_scheme == "auto" else settings.tag_scheme
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
