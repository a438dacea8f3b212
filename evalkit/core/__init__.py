"""The words that all of evalkit speaks: plans, messages, records, seams and errors. Standard library only."""
