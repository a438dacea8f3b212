"""One file a kind: detectors of no progress. Opinions, off by default; the report shows their false alarms."""
