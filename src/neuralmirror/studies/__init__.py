"""The trial bench and the paper's studies: data-generating processes, records, tables and figures."""
