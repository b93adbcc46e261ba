"""Both schemes, and settings under which tests try them."""

from dataclasses import replace

from neuralmirror.learner.training import Recipe
from neuralmirror.mirror.configuration import Settings
from neuralmirror.mirror.individual import individual
from neuralmirror.mirror.simultaneous import simultaneous

SEED = (7, 0)
QUICK = Settings(recipe=Recipe(steps=25, batch_size=32), hidden=(8, 4), transform="standard", degree=1, n_networks=1)
CURVED = replace(QUICK, degree=2, n_networks=3)  # squares in the skip, and networks that hold out rows
VARIANTS = {
    "plain": QUICK,
    "curved": CURVED,
    "bare": replace(QUICK, skip=False),
    "products": replace(CURVED, products=True),
}
SCHEMES = {
    "simultaneous": lambda q, s, seed=SEED: simultaneous([q], [seed], s)[0],
    "individual": lambda q, s, seed=SEED: individual(q, seed, s),
}
