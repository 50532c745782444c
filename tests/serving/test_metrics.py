"""Names, labels and values in the server's metrics."""

import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bert_cli.serving.keys import Client
from bert_cli.serving.metrics import ServerMetrics

UNITS = ("_seconds", "_bytes", "_texts", "_step", "_fds", "_info", "_processes")


@pytest.fixture
def metrics():
    metrics = ServerMetrics(lambda: 3)
    metrics.set_model("tags", 120)
    return metrics


def samples(metrics):
    families = text_string_to_metric_families(metrics.text(Client()).decode())
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value for family in families for sample in family.samples
    }


def test_names_follow_the_rules_of_prometheus(metrics):
    metrics.count_request("/predict", 200, "tags", 0.1)
    families = list(text_string_to_metric_families(metrics.text(Client()).decode()))
    assert len(families) >= 14
    for family in families:
        assert re.fullmatch("(bert|process)_[a-z_]+", family.name)
        assert family.documentation.endswith(".")
        assert family.type != "unknown"
        if family.type == "counter":
            assert {sample.name for sample in family.samples} <= {f"{family.name}_total", f"{family.name}_created"}
        else:
            assert family.name.endswith(UNITS)
            assert not family.name.endswith("_total")


def test_every_metric_of_a_model_begins_at_zero(metrics):
    values = samples(metrics)
    assert values["bert_model_checkpoint_step", ("model", "tags")] == 120
    assert values["bert_model_load_timestamp_seconds", ("model", "tags")] > 1.7e9
    assert values["bert_cut_texts_total", ("model", "tags")] == 0
    assert values["bert_batch_texts_count", ("model", "tags")] == 0
    for result in ("success", "failure"):
        assert values["bert_model_reloads_total", ("model", "tags"), ("result", result)] == 0
        assert values["bert_api_key_reloads_total", ("result", result)] == 0
    assert values[("bert_waiting_texts",)] == 3


def test_requests_have_path_status_and_model(metrics):
    metrics.count_request("/predict", 200, "tags", 0.03)
    metrics.count_request("/predict", 200, "tags", 0.3)
    metrics.count_request("/predict", 401, "", 0.001)
    values = samples(metrics)
    path, tags = ("path", "/predict"), ("model", "tags")
    assert values["bert_requests_total", tags, path, ("status", "200")] == 2
    assert values["bert_requests_total", ("model", ""), path, ("status", "401")] == 1
    assert values["bert_request_seconds_bucket", ("le", "0.05"), tags, path] == 1
    assert values["bert_request_seconds_sum", tags, path] == pytest.approx(0.33)


def test_batches_have_size_time_and_cut_texts(metrics):
    metrics.count_batch("tags", 1, 0, 0.01)
    metrics.count_batch("tags", 64, 5, 0.3)
    values = samples(metrics)
    tags = ("model", "tags")
    assert (values["bert_batch_texts_sum", tags], values["bert_batch_texts_count", tags]) == (65, 2)
    assert values["bert_batch_texts_bucket", ("le", "1.0"), tags] == 1
    assert values["bert_batch_seconds_sum", tags] == pytest.approx(0.31)
    assert values["bert_cut_texts_total", tags] == 5


def test_reloads_are_counted_by_result(metrics):
    metrics.count_reload("tags", is_success=False)
    metrics.count_reload("tags", is_success=False)
    metrics.count_reload("tags", is_success=True)
    metrics.count_key_reload(is_success=False)
    values = samples(metrics)
    assert values["bert_model_reloads_total", ("model", "tags"), ("result", "failure")] == 2
    assert values["bert_model_reloads_total", ("model", "tags"), ("result", "success")] == 1
    assert values["bert_api_key_reloads_total", ("result", "failure")] == 1
