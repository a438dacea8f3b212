"""One file a kind: tools that a suite declares."""
