"""The life of one trial: ask, act, count, watch, stop, grade, record."""
