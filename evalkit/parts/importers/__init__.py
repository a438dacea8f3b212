"""One file a kind: readers of the results that other harnesses wrote."""
