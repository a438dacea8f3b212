"""One file a kind: checks for the loop's ladder and graders that decide."""
