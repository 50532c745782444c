"""Weights that stay zero until a checkpoint is loaded."""

import numpy as np

from bert_cli.model.deferred_initialization import DeferredInitialization
from bert_cli.model.layers import DenseLayer


def test_only_weights_that_are_not_loaded_are_drawn():
    deferred = DeferredInitialization()
    with deferred.deferring():
        first, second = (DenseLayer(name, 3, 4, 0.02, 1) for name in ("first", "second"))
    assert not any(np.any(layer.kernel) for layer in (first, second))
    deferred.initialize_except([first.kernel])
    assert not np.any(first.kernel)
    assert np.any(second.kernel)
    assert deferred.waiting == []


def test_drawn_values_do_not_depend_on_the_time():
    deferred = DeferredInitialization()
    with deferred.deferring():
        late = DenseLayer("a", 3, 4, 0.02, 1)
    deferred.initialize_except([])
    np.testing.assert_array_equal(late.kernel, DenseLayer("a", 3, 4, 0.02, 1).kernel)


def test_weights_are_drawn_immediately_outside():
    deferred = DeferredInitialization()
    with deferred.deferring(is_deferred=False):
        assert np.any(DenseLayer("a", 3, 4, 0.02, 1).kernel)
    assert deferred.current.get() is None
    assert deferred.waiting == []
