from .base import SelectionWarning
from .calibration import calibrate
from .comparators.deeppink import DeepPINK
from .comparators.gaussian_mirror import GaussianMirror
from .comparators.knockoffs.selectors import FixedXKnockoffs, ModelXKnockoffs
from .comparators.p_values import BHSelector, BYSelector
from .comparison import compare
from .genome.estimator import GenomeMirror
from .io.genotype_files import open_genotypes
from .mirror.estimator import NeuralGaussianMirror
from .mirror.resolutions import MultiResolutionMirror

__version__: str

__all__ = [
    "BHSelector",
    "BYSelector",
    "DeepPINK",
    "FixedXKnockoffs",
    "GaussianMirror",
    "GenomeMirror",
    "ModelXKnockoffs",
    "MultiResolutionMirror",
    "NeuralGaussianMirror",
    "SelectionWarning",
    "__version__",
    "calibrate",
    "compare",
    "open_genotypes",
]
