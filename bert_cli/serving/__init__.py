"""HTTP server for bert-serve: models, request queue, responses, pages, metrics and log of requests."""
