"""Other selectors with FDR control under the same API."""
