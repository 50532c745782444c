"""An application with a classifier, a regression and an encoder."""

import pytest

from tests.serving.http.calls import Application, FirstWords, Numbers, Vectors, make_model


@pytest.fixture(scope="session")
def application():
    models = [make_model(*row) for row in ((FirstWords, "first"), (Numbers, "numbers"), (Vectors, "vectors"))]
    opened = Application(*models)
    yield opened
    opened.close()
