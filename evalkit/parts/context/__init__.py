"""One file a kind: views of the transcript."""
