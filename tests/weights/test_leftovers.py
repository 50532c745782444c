"""Weights that a BERT does not have: dropped, named, or refused if outputs depend on them."""

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.log import warn_once
from bert_cli.weights.checkpoint import LoadReport, read_weights
from bert_cli.weights.leftovers import (
    is_of_bert,
    pooler_advice,
    refuse_of_encoder,
    refuse_of_head,
    report_unused,
)
from bert_cli.weights.variables import Reader
from tests.snapshots import raises

LAYER = "bert.encoder.layer.0."
HEAD = ["output_weights", "output_bias"]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        (LAYER + "crossattention.self.query.weight", "attention to another encoder, of a decoder"),
        (LAYER + "attention.self.distance_embedding.weight", "relative positions"),
        (LAYER + "attention.self.rotary_emb.inv_freq", "other positions than Google's BERT"),
        (LAYER + "attention.self.query.lora_A.default.weight", "a LoRA adapter .*merge_and_unload"),
        (LAYER + "output.adapters.sst.adapter_down.0.weight", "an adapter"),
        (LAYER + "intermediate.dense.SCB", "quantized weights .*download the model in float32"),
        ("bert.encoder.layer.1.output.dense.qweight", "quantized weights"),
    ],
)
def test_weights_between_the_layers_are_refused_for_every_output(name, title):
    with pytest.raises(InputError, match=rf"m: has {title}"):
        refuse_of_encoder("m", ["bert/pooler/dense/bias"], ["classifier.weight", name])
    refuse_of_encoder("m", ["output_weights"], [name])
    refuse_of_encoder("m", ["bert/pooler/dense/bias"], ["bert.embeddings.position_ids", "crf.transitions"])


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("crf.transitions", "a CRF, which decides the tags"),
        ("model.crf.start_transitions", "a CRF"),
        ("transitions", "a CRF"),
        ("crf_loss/transitions", "a CRF"),
        ("bilstm.weight_ih_l0", "a recurrent layer"),
        ("classifier.dense.weight", "a head with more than one layer"),
        ("classifier.0.weight", "a head with more than one layer"),
    ],
)
def test_weights_of_a_head_are_refused_for_its_predictions(name, title):
    with pytest.raises(InputError, match=rf"m: has {title}.*bert-convert --head=encoder"):
        refuse_of_head("m", HEAD, [name])
    refuse_of_head("m", ["bert/pooler/dense/bias"], [name])
    refuse_of_head("m", HEAD, ["classifier.weight", "loss_fct.weight"])


def test_the_rest_is_named_once(caplog):
    warn_once.cache_clear()
    names = [
        "bert.embeddings.position_ids", "loss_fct.weight", "cls.predictions.decoder.weight", "crf.transitions",
        "query_encoder.encoder.layer.0.output.dense.bias", "sequence_pooler.weight", "gate.weight",
    ]  # fmt: skip
    for _ in range(2):
        report_unused("m", names)
    assert [record.message for record in caplog.records] == [
        "warning: m: not used: a CRF, which decides the tags (crf.transitions)",
        "warning: m: not used: another encoder (query_encoder) (query_encoder.encoder.layer.0.output.dense.bias)",
        "warning: m: not used: a pooler of another form (sequence_pooler.weight)",
        "warning: m: not known here, not used: gate.weight",
    ]


def test_a_missing_pooler_names_its_likeness():
    pooler = ["bert/pooler/dense/kernel"]
    assert (
        pooler_advice(pooler, ["pooler.0.weight"]) == "; it has pooler.0.weight, which may be a pooler of another form"
    )
    assert pooler_advice(pooler, ["gate.weight"]) == pooler_advice(["output_bias"], ["pooler.0.weight"]) == ""


def test_names_of_bert():
    assert is_of_bert("bert/embeddings/LayerNorm/beta")
    assert is_of_bert("cls/squad/output_bias")
    assert not is_of_bert("crf_loss/transitions")


class Memory(Reader):
    """A checkpoint in memory."""

    description = "memory"

    def __init__(self, unused, *names):
        self.unused = unused
        self.shapes = dict.fromkeys(("bert/x", *names), (1,))

    def read(self, name):
        return np.zeros(1)


def test_loading_checks_the_weights():
    shapes = {"bert/x": (1,), "output_weights": (1,)}
    with pytest.raises(InputError, match="memory: has relative positions"):
        read_weights(shapes, Memory(["a.distance_embedding.weight"]))
    # A training may start from a model with a CRF, but its predictions cannot be computed.
    for reader in (Memory(["crf.transitions"], "output_weights"), Memory([], "output_weights", "crf_loss/transitions")):
        report = read_weights(shapes, reader)[1]
        with pytest.raises(InputError, match="memory: has a CRF"):
            report.check_whole("reason")
    with pytest.raises(InputError, match=r"lacks bert/pooler/dense/bias: reason; it has pooler\.bias, which may be"):
        LoadReport("m", [], ["bert/pooler/dense/bias"], [], ["pooler.bias"]).check_whole("reason")


@pytest.mark.parametrize("name", ["gate.weight", "crf.transitions", "sequence_pooler.weight"])
def test_the_rest_is_an_error_with_strict(name):
    report_unused("m", ["loss_fct.weight"], strict=True)
    with raises(InputError, name):
        report_unused("m", [name], strict=True)
