"""Vocabulary and config of a new model, which commands read from files."""

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError, InputTypeError, refuse_if
from bert_cli.base.log import LOG
from bert_cli.base.names import CONFIG, RANDOM, VOCABULARY
from bert_cli.base.writing import atomic_write, write_lines
from bert_cli.corpus.text import MemoryText, TextSource
from bert_cli.flags.option import replace_values
from bert_cli.flags.paths import path_text
from bert_cli.model.config_files import report_unknown_keys
from bert_cli.opening.paths import random_model
from bert_cli.runs.preparation.corpus import CACHE_SIZE, choose_num_workers
from bert_cli.runs.preparation.vocabulary import check_size, count_words, make_vocabulary
from bert_cli.runs.tasks.pretraining_data import find_files
from bert_cli.settings.preparation import VocabularySize
from bert_cli.settings.pretraining import PretrainSettings
from bert_cli.settings.texts import CorpusForm
from bert_cli.text.tokenization import BasicTokenizer


@dataclasses.dataclass(frozen=True)
class NewModel:
    """Arguments for a new model, and a directory for its files.

    Attributes:
        config: values of bert_config.json, a path, or None for the sizes of the built-in network.
        vocab_size: size of a vocabulary that is learned from the text, or None for the default.
        folder: a temporary directory.
    """

    config: Mapping[str, Any] | str | os.PathLike | None
    vocab_size: int | None
    folder: str

    @property
    def files(self) -> dict[str, str]:
        """Flag -> path of the files that `complete` may write."""
        return {
            "vocab_file": os.path.join(self.folder, VOCABULARY),
            "bert_config_file": os.path.join(self.folder, CONFIG),
        }

    def temporary_files(self, settings: PretrainSettings) -> list[str]:
        """Return the flags for files in the directory."""
        paths = self.files
        return [flag for flag in paths if getattr(settings.model, flag) == paths[flag]]

    @contextlib.contextmanager
    def naming_files(self) -> Iterator[None]:
        """Name arguments in errors of the block, instead of the files in the directory."""
        try:
            yield
        except InputError as error:
            message = str(error)
            for path, name in zip(self.files.values(), ("vocabulary", "config"), strict=True):
                message = message.replace(path, name)
            raise type(error)(message) from None

    def complete(self, settings: PretrainSettings, texts: Mapping[str, MemoryText]) -> PretrainSettings:
        """Return the settings with vocabulary and config, and write these files if needed.

        Args:
            settings: flag values.
            texts: texts in memory, by the flag for their files.
        """
        is_random = settings.model.init_checkpoint in (None, "", RANDOM)
        learns = is_random and not settings.model.vocab_file
        refuse_if(
            self.vocab_size is not None and not learns,
            "vocab_size: init_checkpoint and vocab_file have a vocabulary already; leave it out",
        )
        values: dict[str, Any] = {}
        if isinstance(self.config, str | os.PathLike):
            values["bert_config_file"] = path_text(self.config, "config")
        elif self.config is not None or is_random:
            values["bert_config_file"] = self._write_config()
        if learns:
            inputs = [texts["input_file"]] if "input_file" in texts else _find_texts(settings.files.input_file)
            values["vocab_file"] = self._learn_vocabulary(settings, inputs)
        return replace_values(settings, values)

    def _write_config(self) -> str:
        config = self.config
        if config is None:
            config = json.loads(files.read_bytes(random_model()[1]))
            del config["vocab_size"]
        if not isinstance(config, Mapping):
            raise InputTypeError(f"config: a dict with the values of bert_config.json is needed, found {config!r:.80}")
        for name, value in config.items():
            try:
                json.dumps({name: value}, allow_nan=False)
            except (TypeError, ValueError):
                message = f"config: {name}={value!r:.40} cannot be in bert_config.json; give Python's numbers or texts"
                raise InputTypeError(message) from None
        path = self.files["bert_config_file"]
        with atomic_write(path, "w") as file:
            json.dump(dict(config), file)
        # BERT-Base has the values that are missing, so a misspelt size would train a large model.
        report_unknown_keys(path, strict=True)
        return path

    def _learn_vocabulary(self, settings: PretrainSettings, inputs: Sequence[TextSource]) -> str:
        """Learn a vocabulary from the text, as bert-build-vocab does, and return its path."""
        do_lower_case = settings.model.do_lower_case is not False
        size = VocabularySize(vocab_size=self.vocab_size, do_lower_case=do_lower_case)
        check_size(size)
        tokenizer = BasicTokenizer(do_lower_case, CACHE_SIZE)
        form = CorpusForm.of(settings.columns, settings.data, settings.text_files)
        tokens = make_vocabulary(count_words(inputs, tokenizer, choose_num_workers(inputs), form), tokenizer, size)
        LOG.info("the vocabulary has %d tokens", len(tokens))
        write_lines(self.files["vocab_file"], tokens)
        return self.files["vocab_file"]


def _find_texts(patterns: str) -> Sequence[TextSource]:
    """Return the paths of text files."""
    paths, are_records = find_files(patterns, "input_file")
    refuse_if(
        are_records,
        f"{paths[0]}: is a TFRecord file, which has token ids instead of words; give its vocabulary as vocab_file",
    )
    return paths
