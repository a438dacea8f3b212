"""Records to numbers: estimates, intervals, comparisons, gates. Nothing here knows where records are kept."""
