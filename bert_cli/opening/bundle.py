"""A loaded model as its files describe it, with its trained head. No weights, no TensorFlow."""

import dataclasses
import functools
import hashlib
import json
from typing import Any, Generic, TypeVar

from bert_cli.base import files
from bert_cli.base.json_files import to_json
from bert_cli.base.names import TOKENIZER_CONFIG, VOCABULARY
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.opening.head import HeadFiles
from bert_cli.opening.paths import ModelPaths
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.tokenizer_files import is_tokenizer_json
from bert_cli.text.tokenizer_settings import GOOGLE, LOWER_CASE, TokenizerSettings
from bert_cli.text.vocabulary import Vocabulary

Config = TypeVar("Config", bound=BertConfig | ModuleConfig, covariant=True)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelBundle(ModelPaths, Generic[Config]):
    """A model as it is known before TensorFlow is imported; made by loader.load_model.

    Attributes:
        config: the model's config.
        optional_vocabulary: the vocabulary; None for a run on token ids, and for a model that is
            converted without one.
        do_lower_case: whether text is lower-cased.
        tokenizer_settings: other settings of the tokenizer.
    """

    config: Config
    optional_vocabulary: Vocabulary | None
    do_lower_case: bool
    tokenizer_settings: TokenizerSettings = GOOGLE

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary if there must be one, as in a model that reads text."""
        assert self.optional_vocabulary is not None, "InputError is raised before, where text is read and it is missing"
        return self.optional_vocabulary

    @functools.cached_property
    def tokenizer(self) -> FullTokenizer:
        """Return the tokenizer."""
        return FullTokenizer(self.vocabulary, self.do_lower_case, settings=self.tokenizer_settings)

    @functools.cached_property
    def head(self) -> HeadFiles:
        """Return the trained head as the model's files describe it."""
        return HeadFiles(self, self.config.num_hidden_layers)

    @property
    def vocab_bytes(self) -> bytes | None:
        """Return a vocab.txt with all tokens, from the model's own file if it has all of them."""
        is_whole = not self.tokenizer_settings.outside_wordpiece
        if self.vocab_file and is_whole and not is_tokenizer_json(self.vocab_file):
            return files.read_bytes(self.vocab_file)
        return "".join(f"{token}\n" for token in self.vocabulary.tokens).encode() if self.optional_vocabulary else None

    @property
    def tokenizer_values(self) -> dict[str, Any]:
        """Return casing and settings that differ from Google's, as for tokenizer_config.json."""
        return {LOWER_CASE: self.do_lower_case} | self.tokenizer_settings.values()

    @property
    def tokenizer_files(self) -> dict[str, bytes]:
        """Return file name -> contents, for the tokenizer files that later runs use."""
        if not self.optional_vocabulary:
            return {}
        contents = {VOCABULARY: self.vocab_bytes or b""}
        if self.tokenizer_settings != GOOGLE:
            contents[TOKENIZER_CONFIG] = f"{to_json(self.tokenizer_values, indent=2)}\n".encode()
        return contents

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return flag name -> value or digest, for flags about the model that decide predictions."""
        # Use digests, not paths: the same files may have different paths on different machines.
        tokens = self.vocabulary.tokens if self.optional_vocabulary else ()
        settings = self.tokenizer_settings.values()
        contents = "\n".join(tokens) + (json.dumps(settings, sort_keys=True) if settings else "")
        return {
            "do_lower_case": self.do_lower_case,
            # A tensorflow-hub module is also a checkpoint.
            "init_checkpoint": self.required_checkpoint.identity,
            "vocab_file": _digest(contents),
            "bert_config_file": _digest(json.dumps(self.config.values(), sort_keys=True)),
        }


AnyModel = ModelBundle[BertConfig | ModuleConfig]


def _digest(text: str) -> str:
    # 64 bits are enough to distinguish models, and keep the file readable.
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
