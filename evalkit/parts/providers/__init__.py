"""One file a kind: models, real and simulated."""
