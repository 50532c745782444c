"""Monitoring for bert-serve: metrics for Prometheus, and a log line per request with its id."""
