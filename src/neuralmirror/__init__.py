"""Controlled feature selection for neural networks by Gaussian mirrors.

Public names are listed in `__init__.pyi` and imported on first use: the command line answers before torch loads.
"""

from importlib.metadata import version

import lazy_loader

__version__ = version("neuralmirror")
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
