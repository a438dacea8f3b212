"""Runs on disk: append, resume, read."""
