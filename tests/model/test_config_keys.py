"""Tables of keys, and config files with keys that cannot be computed or are not known."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.log import warn_once
from bert_cli.model.config_files import read_config, report_unknown_keys
from bert_cli.model.config_keys import CONFIG_KEYS
from bert_cli.model.networks import NETWORKS
from tests.configs import SMALL

# Values that change the network.
REFUSED = {
    "is_decoder": True,
    "is_encoder_decoder": True,
    "add_cross_attention": True,
    "position_embedding_type": "relative_key_query",
    "pruned_heads": {"0": [1]},
    "quantization_config": {"load_in_8bit": True},
    "auto_map": {"AutoModel": "modeling_other.OtherModel"},
    "adapters": {"adapters": {"a": "b"}},
    "adapter_fusion_models": ["a"],
}
# Keys in transformers 5.24's config.to_dict() of BERT, DistilBERT and ELECTRA.
TRANSFORMERS = """
_name_or_path add_cross_attention architectures attention_probs_dropout_prob bos_token_id chunk_size_feed_forward
classifier_dropout dtype eos_token_id hidden_act hidden_dropout_prob hidden_size id2label initializer_range
intermediate_size is_decoder is_encoder_decoder label2id layer_norm_eps max_position_embeddings model_type
num_attention_heads num_hidden_layers output_attentions output_hidden_states pad_token_id problem_type return_dict
tie_word_embeddings transformers_version type_vocab_size use_cache vocab_size activation attention_dropout dim dropout
hidden_dim n_heads n_layers qa_dropout seq_classif_dropout sinusoidal_pos_embds embedding_size summary_activation
summary_last_dropout summary_type summary_use_proj
"""
# Keys in the bert_config.json of Google's Chinese and multilingual models.
GOOGLE = (
    "directionality pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head pooler_type"
)

KNOWN = {*CONFIG_KEYS.obeyed, *CONFIG_KEYS.no_effect, *CONFIG_KEYS.required}


def test_every_key_has_one_entry():
    tables = [CONFIG_KEYS.obeyed, CONFIG_KEYS.no_effect, CONFIG_KEYS.required]
    assert len(KNOWN) == sum(map(len, tables))
    assert set(REFUSED) == set(CONFIG_KEYS.required)


def test_keys_of_other_programs_are_known():
    assert {*TRANSFORMERS.split(), *GOOGLE.split()} - KNOWN == set()
    assert {"vocab_size", "foo", "bar"} - KNOWN == {"bar", "foo"}
    ours = {
        key for network in NETWORKS.values() for key in (*network.keys, *network.defaults, *network.additional_keys)
    }
    assert set(ours) - KNOWN == set()


@pytest.mark.parametrize("key", REFUSED)
def test_refused_values(key, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(SMALL | {key: REFUSED[key]}))
    with pytest.raises(InputError, match=rf"config\.json: {key} is .*cannot be computed here"):
        read_config(str(path))
    CONFIG_KEYS.check("c", SMALL | {key: CONFIG_KEYS.required[key].values[0]})
    CONFIG_KEYS.check("c", SMALL | {key: None})


def test_unknown_keys_are_named_once_or_refused(tmp_path, caplog):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(SMALL | {"foo": 1, "bar": None}))
    warn_once.cache_clear()
    for _ in range(2):
        report_unknown_keys(str(path))
    assert caplog.text.count("config.json: not known here, not used: bar, foo") == 1
    with pytest.raises(InputError, match=r"not used: bar, foo \(an error with --strict\)"):
        report_unknown_keys(str(path), strict=True)
    path.write_text(json.dumps(SMALL))
    report_unknown_keys(str(path), strict=True)
