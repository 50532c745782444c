"""A server's application without a socket, and models that compute in microseconds."""

import asyncio
import json

import numpy as np

from bert_cli.serving.http.app import Guard, make_app
from bert_cli.serving.http.protocol import ServerState
from bert_cli.serving.items import FP32, TEXT, AnswerField, Embedding, Token
from bert_cli.serving.keys import ApiKeys
from bert_cli.serving.served_model import ServedModel
from bert_cli.serving.service import Service
from bert_cli.settings.answering import ModelFlags
from bert_cli.settings.serving import Limits
from bert_cli.weights.path import TF1, CheckpointPath

PROMPTS = {None: "", "query": "q ", "passage": "p "}


class FakeVectors:
    """Vectors (number of characters, 3); they count as cut if the text has the word "long"."""

    prompt_names = ("query", "passage")
    width = 2
    longest = None
    has_unit_length = False

    def embed(self, items):
        texts = [PROMPTS[item.prompt_name] + item.first for item in items]
        return [Embedding(np.array([len(text), 3.0], np.float32), len(text), 4 * ("long" in text)) for text in texts]

    def tokenize(self, text, prompt_name=None):
        text = PROMPTS[prompt_name] + text
        return [Token("[CLS]", 101, None), Token(text, 7, (0, len(text))), Token("[SEP]", 102, None)]


class FirstWords(ServedModel):
    """A classifier of pairs; the label is the first word, and the probability is the share of equal words."""

    kind = "classifier"
    is_classifier = explains = True
    columns = (AnswerField("label", TEXT), AnswerField("probabilities", FP32, 2))

    def __init__(self, name, flags, checkpoint):
        super().__init__(name, flags, checkpoint)
        self._vectors = FakeVectors()

    def answer(self, items):
        records = []
        for first, second, *_ in items:
            words, other_words = set(first.split()), set((second or first).split())
            share = len(words & other_words) / max(1, len(words))
            probabilities = {"no": 1 - share, "yes": share}
            cut = {"cut": 3} if "long" in (second or first) else {}
            records.append({"text": first, "label": first.split()[0], "probabilities": probabilities} | cut)
        return records


class Numbers(FirstWords):
    """A regression of pairs: the number of equal words."""

    kind = "regression"
    columns = (AnswerField("value", FP32),)

    def answer(self, items):
        return [
            {"text": item.first, "value": float(len(set(item.first.split()) & set((item.second or "").split())))}
            for item in items
        ]


class Vectors(FirstWords):
    """An encoder."""

    kind = "encoder"
    is_classifier = explains = False
    columns = (AnswerField("embedding", FP32, 2),)


class Application:
    """A server's application with models, called without a socket."""

    def __init__(self, *models: ServedModel, keys: str | None = None, limits: Limits = Limits(), **options):  # noqa: B008
        """Open the application; `options` are fields of State."""
        self.service = Service({model.name: model for model in models}, limits)
        self.state = ServerState(self.service, ApiKeys(keys, tuple(self.service.models)), "", None, **options)
        self._app = Guard(make_app(self.state), self.state)

    def close(self) -> None:
        self.service.batcher.close()

    def send(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Return the response's status, headers and body."""
        messages = []
        pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
            "headers": [(b"host", b"a"), *pairs], "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1),
        }  # fmt: skip
        bodies = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> dict:
            return bodies.pop(0) if bodies else {"type": "http.disconnect"}

        async def send(message: dict) -> None:
            messages.append(message)

        asyncio.run(self._app(scope, receive, send))
        sent_headers = {name.decode(): value.decode() for name, value in messages[0]["headers"]}
        return messages[0]["status"], sent_headers, b"".join(message.get("body", b"") for message in messages[1:])

    def get(self, path: str, **headers: str):
        """Return the response's status and JSON."""
        status, _, body = self.send("GET", path, **headers)
        return status, json.loads(body)

    def post(self, path: str, body: object, **headers: str):
        """Return the response's status and JSON."""
        status, _, answer = self.send("POST", path, json.dumps(body).encode(), **headers)
        return status, json.loads(answer)


def make_model(model_class: type[ServedModel], name: str) -> ServedModel:
    """Return a model without a checkpoint."""
    return model_class(name, ModelFlags(), CheckpointPath(TF1, "/a/model.ckpt-30"))
