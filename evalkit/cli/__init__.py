"""The command line: one file a command. The only room that puts all others together."""
