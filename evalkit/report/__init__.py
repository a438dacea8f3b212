"""Numbers to eyes: terminal tables, figures, the page, traces."""
