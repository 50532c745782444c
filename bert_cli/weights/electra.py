"""Google's TF1 checkpoints of ELECTRA: each of the two networks under this package's names."""

from collections.abc import Iterable, Mapping

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.model.config import BertConfig
from bert_cli.model.networks import ELECTRA
from bert_cli.weights.variables import DISCRIMINATOR, GENERATOR, Reader, is_training_state

_EMBEDDINGS = "embeddings/"
# Prefixes of Google's names and of ours. The first match applies.
_MASKED_LM = {
    "generator_predictions/output_bias": "cls/predictions/output_bias",
    "generator_predictions/": "cls/predictions/transform/",
}
# Google's prefix, which is also ours.
_REPLACED_TOKENS = "discriminator_predictions/"
# Width of an attention head in all of Google's networks.
_HEAD_WIDTH = 64


def networks_in(names: Iterable[str]) -> list[str]:
    """Return the networks in an ELECTRA checkpoint; an empty list for other models.

    Args:
        names: Google's variable names.
    """
    names = list(names)
    return [
        network
        for network in (DISCRIMINATOR, GENERATOR)
        if any(name.startswith(f"{network}/encoder/") for name in names)
    ]


def our_to_google_names(names: Iterable[str], network: str) -> dict[str, str]:
    """Return Google's names for one network's variables, by our names.

    Args:
        names: all of Google's names in the checkpoint.
        network: DISCRIMINATOR or GENERATOR.
    """
    names = list(names)
    has_embeddings = any(name.startswith(f"{network}/{_EMBEDDINGS}") for name in names)
    prefixes = {
        f"{network if has_embeddings else DISCRIMINATOR}/{_EMBEDDINGS}": f"bert/{_EMBEDDINGS}",
        f"{network}/": "bert/",
    }
    skipped_prefixes = {f"{DISCRIMINATOR}/", f"{GENERATOR}/"}
    # If the checkpoint has only one network, all heads belong to it.
    if network == GENERATOR or len(networks_in(names)) == 1:
        prefixes |= _MASKED_LM
    else:
        skipped_prefixes |= _MASKED_LM.keys()
    if network == GENERATOR:
        skipped_prefixes.add(_REPLACED_TOKENS)
    google_by_our_name = {}
    for name in names:
        ours = _replace_prefix(name, prefixes)
        if ours != name or not name.startswith(tuple(skipped_prefixes)):
            google_by_our_name[ours] = name
    return google_by_our_name


def _replace_prefix(name: str, prefixes: Mapping[str, str]) -> str:
    """Return a name with its first matching prefix replaced."""
    prefix = next((prefix for prefix in prefixes if name.startswith(prefix)), "")
    return prefixes.get(prefix, "") + name.removeprefix(prefix)


def electra_to_google_name(name: str, network: str) -> str:
    """Return Google's name for one of our names, for DISCRIMINATOR or GENERATOR."""
    prefixes = {ours: google for google, ours in _MASKED_LM.items()}
    prefixes |= {f"bert/{_EMBEDDINGS}": f"{DISCRIMINATOR}/{_EMBEDDINGS}", "bert/": f"{network}/"}
    return _replace_prefix(name, prefixes)


class ElectraReader(Reader):
    """Reader for one network of an ELECTRA checkpoint, under our names.

    Attributes:
        network: DISCRIMINATOR or GENERATOR.
    """

    def __init__(self, reader: Reader, network: str = ""):
        """Select a network.

        Args:
            reader: reader for the checkpoint under Google's names.
            network: DISCRIMINATOR, GENERATOR, or "" for the first network in the checkpoint.

        Raises:
            InputError: if the checkpoint does not have this network.
        """
        networks = networks_in(reader.shapes)
        if network and network not in networks:
            raise InputError(f"{reader.description}: holds no {network} of an ELECTRA")
        self.network = network or networks[0]
        self._reader = reader
        self._names = our_to_google_names(reader.shapes, self.network)
        self.shapes = {ours: reader.shapes[name] for ours, name in self._names.items()}
        used_names = set(self._names.values())
        self.unused = sorted(name for name in reader.shapes if name not in used_names and not is_training_state(name))
        self.description = reader.description
        if len(networks) > 1:
            is_generator = self.network == GENERATOR
            hint = "" if is_generator else f"; {reader.description}/{GENERATOR} is the generator"
            self.description += f" ({'generator' if is_generator else 'discriminator'}{hint})"

    def read(self, name: str) -> np.ndarray:
        """Return a variable's values."""
        return self._reader.read(self._names[name])

    def config(self) -> BertConfig:
        """Return the config that follows from the shapes (see `config_of`)."""
        return config_of(self.shapes, self.description)


def config_of(shapes: Mapping[str, tuple[int, ...]], source: str) -> BertConfig:
    """Return an ELECTRA network's config.

    Args:
        shapes: shapes by our names.
        source: the checkpoint's name for messages.

    Raises:
        InputError: if the shapes do not determine the config.
    """
    try:
        vocab_size, embedding_size = shapes["bert/embeddings/word_embeddings"]
        hidden_size, intermediate_size = shapes["bert/encoder/layer_0/intermediate/dense/kernel"]
        num_positions, num_types = (
            shapes[f"bert/embeddings/{name}_embeddings"][0] for name in ("position", "token_type")
        )
    except (KeyError, ValueError):
        raise InputError(f"{source}: lacks variables of an ELECTRA; give --bert_config_file") from None
    # Compute it like Google's configure_pretraining.py and get_generator_config.
    num_heads = max(1, hidden_size // _HEAD_WIDTH)
    if hidden_size % num_heads:
        raise InputError(f"{source}: its width {hidden_size} does not say the number of heads; give --bert_config_file")
    return BertConfig(
        vocab_size=vocab_size,
        hidden_size=hidden_size,
        num_hidden_layers=len({name for name in shapes if name.endswith("/intermediate/dense/kernel")}),
        num_attention_heads=num_heads,
        intermediate_size=intermediate_size,
        max_position_embeddings=num_positions,
        type_vocab_size=num_types,
        gelu="erf",
        model_type=ELECTRA,
        embedding_size=embedding_size,
    )
