"""The HTTP server of bert-serve: models, the queue of requests, the answers, and the pages."""
