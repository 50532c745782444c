"""Google's TF1 checkpoints of ELECTRA: two networks under one prefix, here as a BERT under our names."""

from collections.abc import Iterable, Mapping

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.model.config import BertConfig
from bert_cli.model.networks import ELECTRA
from bert_cli.weights.names import is_of_training
from bert_cli.weights.reader import Reader

# The scopes of the two networks. The generator reads the discriminator's embeddings, unless it has its own.
DISCRIMINATOR, GENERATOR = "electra", "generator"
_EMBEDDINGS = "embeddings/"
# Beginnings of Google's names -> of ours, tried in this order.
_MASKED_LM = {
    "generator_predictions/output_bias": "cls/predictions/output_bias",
    "generator_predictions/": "cls/predictions/transform/",
}
_REPLACED_TOKENS = "discriminator_predictions/"  # the same here
_HEAD_WIDTH = 64  # of attention, in all networks of Google's


def networks_in(names: Iterable[str]) -> list[str]:
    """DISCRIMINATOR, GENERATOR, or both, where the names are an ELECTRA's."""
    names = list(names)
    return [each for each in (DISCRIMINATOR, GENERATOR) if any(name.startswith(f"{each}/encoder/") for name in names)]


def own_names(names: Iterable[str], network: str) -> dict[str, str]:
    """Our names -> Google's, of what belongs to one of the networks."""
    names = list(names)
    has_own = any(name.startswith(f"{network}/{_EMBEDDINGS}") for name in names)
    beginnings = {
        f"{network if has_own else DISCRIMINATOR}/{_EMBEDDINGS}": f"bert/{_EMBEDDINGS}",
        f"{network}/": "bert/",
    }
    left_out = {f"{DISCRIMINATOR}/", f"{GENERATOR}/"}
    # Of a checkpoint with one network all heads are its own.
    if network == GENERATOR or len(networks_in(names)) == 1:
        beginnings |= _MASKED_LM
    else:
        left_out |= _MASKED_LM.keys()
    if network == GENERATOR:
        left_out.add(_REPLACED_TOKENS)
    found = {}
    for name in names:
        ours = _renamed(name, beginnings)
        if ours != name or not name.startswith(tuple(left_out)):
            found[ours] = name
    return found


def _renamed(name: str, beginnings: Mapping[str, str]) -> str:
    """With the first of these beginnings that it has replaced."""
    beginning = next((each for each in beginnings if name.startswith(each)), "")
    return beginnings.get(beginning, "") + name.removeprefix(beginning)


def google_name(name: str, network: str) -> str:
    """The inverse of own_names, for one name."""
    beginnings = {ours: google for google, ours in _MASKED_LM.items()}
    beginnings |= {f"bert/{_EMBEDDINGS}": f"{DISCRIMINATOR}/{_EMBEDDINGS}", "bert/": f"{network}/"}
    return _renamed(name, beginnings)


class ElectraReader(Reader):
    """One of the networks of a checkpoint under our names, see checkpoint.Reader."""

    def __init__(self, reader: Reader, network: str = ""):
        """network: DISCRIMINATOR or GENERATOR; "" for the first that is there. InputError where it is not."""
        found = networks_in(reader.shapes)
        if network and network not in found:
            raise InputError(f"{reader.description}: holds no {network} of an ELECTRA")
        self.network = network or found[0]
        self._reader = reader
        self._names = own_names(reader.shapes, self.network)
        self.shapes = {ours: reader.shapes[name] for ours, name in self._names.items()}
        taken = set(self._names.values())
        self.unused = sorted(name for name in reader.shapes if name not in taken and not is_of_training(name))
        self.description = reader.description
        if len(found) > 1:
            is_generator = self.network == GENERATOR
            other = "" if is_generator else f"; {reader.description}/{GENERATOR} is the generator"
            self.description += f" ({'generator' if is_generator else 'discriminator'}{other})"

    def read(self, name: str) -> np.ndarray:
        """See Reader."""
        return self._reader.read(self._names[name])

    def config(self) -> BertConfig:
        """The sizes of the network by its variables. InputError where they do not say them."""
        return config_of(self.shapes, self.description)


def config_of(shapes: Mapping[str, tuple[int, ...]], source: str) -> BertConfig:
    """The config of an ELECTRA with these shapes, under our names. InputError, naming `source`,
    where they do not say it.
    """
    try:
        words, width = shapes["bert/embeddings/word_embeddings"]
        hidden, wide = shapes["bert/encoder/layer_0/intermediate/dense/kernel"]
        positions, types = (shapes[f"bert/embeddings/{name}_embeddings"][0] for name in ("position", "token_type"))
    except (KeyError, ValueError):
        raise InputError(f"{source}: lacks variables of an ELECTRA; --bert_config_file is needed") from None
    # As in Google's configure_pretraining.py and get_generator_config.
    heads = max(1, hidden // _HEAD_WIDTH)
    if hidden % heads:
        raise InputError(f"{source}: its width {hidden} does not say the number of heads; --bert_config_file is needed")
    return BertConfig(
        vocab_size=words,
        hidden_size=hidden,
        num_hidden_layers=len({name for name in shapes if name.endswith("/intermediate/dense/kernel")}),
        num_attention_heads=heads,
        intermediate_size=wide,
        max_position_embeddings=positions,
        type_vocab_size=types,
        gelu="erf",
        model_type=ELECTRA,
        embedding_size=width,
    )
