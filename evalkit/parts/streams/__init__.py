"""Streams: shapes of what an agent that is a program writes, for `loop: {kind: command, events: NAME}`."""
