"""A text classifier with FastAPI, as in the documentation of transformers and FastAPI.

It uses a pipeline, and an endpoint that FastAPI runs in its thread pool. With --embeddings it
serves a SentenceTransformer at /v1/embeddings.
"""

import argparse

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("--port", type=int, required=True)
parser.add_argument("--embeddings", action="store_true")
settings = parser.parse_args()
app = FastAPI()


class Text(BaseModel):
    text: str


class Input(BaseModel):
    input: str


if settings.embeddings:
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(settings.model, device="cpu")

    @app.post("/v1/embeddings")
    def embeddings(body: Input) -> dict:
        vector = encoder.encode(body.input, normalize_embeddings=True)
        return {"data": [{"index": 0, "embedding": vector.tolist()}]}
else:
    from transformers import pipeline

    classify = pipeline("text-classification", model=settings.model, device="cpu", top_k=None)

    @app.post("/predict")
    def predict(body: Text) -> list:
        return classify(body.text, truncation=True)


uvicorn.run(app, host="127.0.0.1", port=settings.port, log_level="error")
