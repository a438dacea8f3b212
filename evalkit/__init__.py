"""evalkit measures whether an agent does it every time: pass^k of loop designs, with the traces behind the number."""

__version__ = "0.1.0"
