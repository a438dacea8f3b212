"""One file a kind: pieces of a system prompt, so that a prompt is a knob like any other."""
