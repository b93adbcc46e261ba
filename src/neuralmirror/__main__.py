"""`python -m neuralmirror` is `neuralmirror`."""

import sys

from neuralmirror.cli import main

if __name__ == "__main__":
    sys.exit(main())
