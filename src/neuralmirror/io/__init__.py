"""From files to numbers: reading by content, joining by sample id, and cleaning that is stated."""
