"""One run from files to a folder: results, diagnostics, and an offline page."""
