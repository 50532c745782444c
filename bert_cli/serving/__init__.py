"""HTTP server for bert-serve: models, request queue, responses and pages."""
