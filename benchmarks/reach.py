"""How far could a ranking reach? The power of a lasso without copies, when the truth is used to cut its ranking.

Nothing here controls anything: it says what is to be expected of a selection that does. Last answer, mean of 8 and its
standard error: blocks .51 ± .04, heavy-ar .58 ± .03, tomato-all-500 .77 ± .03, tomato-all-1000 .68 ± .04,
tomato-all-2000 .55 ± .05.
Run: python benchmarks/reach.py [FOLDER]     with a folder of measured columns, those of tomatoes too
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LassoCV
from sklearn.preprocessing import StandardScaler

from neuralmirror.studies.scenarios import load_scenarios
from neuralmirror.truth import oracle_power

SIMULATED, MEASURED = ["blocks", "heavy-ar"], ["tomato-all-500", "tomato-all-1000", "tomato-all-2000"]
SEEDS = range(5000, 5008)  # of development


def reached(scenario, seed):
    """The share of the true features above the best cut of the lasso's ranking."""
    x, y, truth = scenario.simulation.sample(seed)
    sizes = np.abs(LassoCV(cv=5).fit(StandardScaler().fit_transform(x), y).coef_)
    return oracle_power(sizes, truth, scenario.fdr)


def main(folder):
    warnings.simplefilter("ignore")
    for scenario in load_scenarios(SIMULATED + (MEASURED if folder else []), folder):
        found = np.array([reached(scenario, seed) for seed in SEEDS])
        print(f"{scenario.name:20} {found.mean():.3f} ± {found.std(ddof=1) / len(found) ** 0.5:.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
