"""One file a kind: tripwires that end a trial."""
