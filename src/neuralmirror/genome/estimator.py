"""Mirrors for whole genomes: groups of markers at several resolutions, from genotypes that stay packed."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from neuralmirror import selection
from neuralmirror._internal import checks
from neuralmirror._internal.cache import fingerprint, load, store
from neuralmirror._internal.device import resolve_device, resolve_jobs
from neuralmirror._internal.pieces import run_pieces
from neuralmirror._internal.progress import progress
from neuralmirror._internal.standardised import standardised
from neuralmirror.genome import polygenic
from neuralmirror.genome.cohort import Cohort, check_offsets, gather
from neuralmirror.genome.components import principal_components
from neuralmirror.genome.learning import Learnt, learn
from neuralmirror.genome.partitions import Partitions
from neuralmirror.genome.scan import Scan, best_groups, scan
from neuralmirror.genome.windows import Columns, Panel, Stretch, cut_chromosome
from neuralmirror.io.packed import PackedGenotypes
from neuralmirror.mirror.discoveries import Resolved, Row, as_frame

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

CUTS = (0.99, 0.75, 0.5)
RUN = 8  # stretches of one piece of work
ROOM = 1 << 31  # bytes of markers with their copies that are held of one chromosome


def most_kept(n: int, n_mirrors: int, resolutions: int, draws: int) -> int:
    """Markers of one chromosome that go on to the learner at most, so that all resolutions fit in memory together."""
    return max(2, ROOM // (4 * n * (n_mirrors + 1) * resolutions * draws))


class Chromosome:
    """One chromosome of an analysis: its markers, the trait freed of what is adjusted for, and its stretches."""

    def __init__(self, name: str, panel: Panel, response: Columns, stretches: list[Stretch]) -> None:
        self.name, self.panel, self.response, self.stretches = name, panel, response, stretches
        self.markers = slice(stretches[0].first, stretches[-1].last)

    def runs(self) -> list[list[Stretch]]:
        """Some stretches at a time."""
        return [self.stretches[first : first + RUN] for first in range(0, len(self.stretches), RUN)]


class GenomeMirror(BaseEstimator):
    """Select groups of markers at several resolutions, each with its false discovery rate below `fdr`.

    As MultiResolutionMirror does, but genotypes are read in blocks and stay packed, copies are made when they are
    needed and not kept, and the groups that the learner sees are screened by their best direction, original or copy.

    Parameters
    ----------
    resolutions : correlations, or a mapping of names to labels
        At 0.5 markers that correlate at about |r| = 0.5 are one group. Or partitions of your own into groups of
        neighbours: one label per marker for each name.
    fdr, offset, n_mirrors, n_repeats, random_state, device, n_jobs, progress, checkpoint
        As in NeuralGaussianMirror.
    screen : int
        Markers that go on to the learner: the groups with the highest scores.
    components : int
        Principal components of the genotypes that are adjusted for, beside the covariates; none by default.
    polygenic : bool
        Adjust the trait, for each chromosome, for what all others predict of it. `fit` also takes such predictions.
    min_frequency, max_missing : float
        Markers with a rarer minor allele, or a larger share of missing genotypes, are left out.

    Attributes
    ----------
    resolutions_ : the names of the resolutions
    groups_ : (resolutions, markers), the first marker of each marker's group
    group_supports_, group_statistics_, group_q_values_ : (resolutions, markers), those of each marker's group
    leads_ : (resolutions, markers), how strongly the fit follows each marker
    explained_by_others_ : (resolutions, markers), the share of its group's variance that others predict
    used_ : (markers,), whether the marker took part
    screened_ : (resolutions, markers), whether the learner saw the marker in at least one draw
    n_people_, rare_, missing_ : people in use; markers left out as too rare, and for missing genotypes
    polygenic_share_ : the share of the trait that the rest of the genome predicts, by chromosome
    seconds_ : of the parts of the fit
    """

    def __init__(
        self,
        resolutions: Sequence[float] | Mapping[str, Any] = CUTS,
        fdr: float = 0.1,
        offset: int = 1,
        n_mirrors: int = 4,
        n_repeats: int = 1,
        screen: int = 5000,
        components: int = 0,
        polygenic: bool = True,
        min_frequency: float = 0.01,
        max_missing: float = 0.2,
        random_state: int | np.random.RandomState | None = None,
        device: str = "auto",
        n_jobs: int | None = None,
        progress: bool | None = None,
        checkpoint: str | Path | None = None,
    ) -> None:
        self.resolutions = resolutions
        self.fdr = fdr
        self.offset = offset
        self.n_mirrors = n_mirrors
        self.n_repeats = n_repeats
        self.screen = screen
        self.components = components
        self.polygenic = polygenic
        self.min_frequency = min_frequency
        self.max_missing = max_missing
        self.random_state = random_state
        self.device = device
        self.n_jobs = n_jobs
        self.progress = progress
        self.checkpoint = checkpoint

    def fit(
        self,
        genotypes: PackedGenotypes,
        y: Any,
        covariates: ArrayLike | None = None,
        offsets: Mapping[str, ArrayLike] | None = None,
    ) -> Self:
        """Read the genotypes twice: to copy and screen the groups, and to learn from those that are kept.

        `offsets` are predictions of the trait by all chromosomes but one, by the name of that one; regenie's, say.
        """
        self._check()
        self.seconds_: dict[str, float] = {}
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        cohort = self._cohort(genotypes, y, covariates, seed)
        groups = Partitions.of(self.resolutions, genotypes, cohort.markers)
        folder = self._folder(genotypes, cohort, offsets, seed)
        chromosomes = self._chromosomes(genotypes, cohort, groups, offsets, seed, folder)
        seeds = [seed + 7919 * number for number in range(self.n_repeats)]
        found = self._scan(chromosomes, groups, seeds, folder)
        kept = self._kept(found, chromosomes, cohort.n)
        learnt = self._learn(chromosomes, cohort, found, kept, seeds, folder)
        return self._store(genotypes, cohort, groups, found, kept, learnt)

    def _check(self) -> None:
        checks.check_fdr(self.fdr)
        checks.check_offset(self.offset)
        for name in ("n_mirrors", "n_repeats", "screen"):
            checks.check_count(name, getattr(self, name))
        for name in ("min_frequency", "max_missing"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must lie in [0, 1), got {getattr(self, name)!r}")
        checks.check_count("components", self.components, 0)
        resolve_device(self.device)

    def _cohort(self, genotypes: PackedGenotypes, y: Any, covariates: ArrayLike | None, seed: int) -> Cohort:
        """The people and markers in use, with components among the covariates where those are asked for."""
        start = time.perf_counter()
        genotypes.parts_by_chromosome()  # markers that are not in order are told before anything takes long
        cohort = gather(genotypes, y, covariates, self.min_frequency, self.max_missing)
        if self.components:
            found = principal_components(cohort.panel(genotypes), self.components, seed)
            cohort = replace(cohort, covariates=np.hstack([cohort.covariates, standardised(found)]))
        self.seconds_["counting alleles"] = time.perf_counter() - start
        return cohort

    def _folder(
        self, genotypes: PackedGenotypes, cohort: Cohort, offsets: Mapping[str, ArrayLike] | None, seed: int
    ) -> Path | None:
        """Where completed pieces of exactly this work are kept."""
        if self.checkpoint is None:
            return None
        settings = {k: v for k, v in self.get_params().items() if k not in ("fdr", "offset", "n_jobs", "progress")}
        settings.pop("checkpoint")
        given = [np.asarray(values) for values in (offsets or {}).values()]
        arrays = [genotypes.chromosomes.astype(str), cohort.rows, cohort.labels.values, cohort.covariates, *given]
        return Path(self.checkpoint) / fingerprint(arrays, (settings, seed, genotypes.matrix.code()))

    def _chromosomes(
        self,
        genotypes: PackedGenotypes,
        cohort: Cohort,
        groups: Partitions,
        offsets: Mapping[str, ArrayLike] | None,
        seed: int,
        folder: Path | None,
    ) -> list[Chromosome]:
        """Every chromosome with the trait freed of the covariates and of what the others predict."""
        bounds = {
            name: tuple(np.searchsorted(cohort.markers, (part.start, part.stop)))
            for name, part in genotypes.parts_by_chromosome().items()
        }
        bounds = {name: (int(a), int(b)) for name, (a, b) in bounds.items() if b > a}
        plain = cohort.panel(genotypes)
        stretches = {name: cut_chromosome(plain, ends[0], ends[1], groups.may_cut) for name, ends in bounds.items()}
        known = check_offsets(offsets, list(bounds), cohort.rows) if offsets is not None else {}
        if self.polygenic and offsets is None:
            known = self._offsets(plain, cohort.response(plain), stretches, seed, folder)
        response = cohort.labels.values[:, 0]
        self.polygenic_share_ = {name: float(np.corrcoef(o, response)[0, 1] ** 2) for name, o in known.items()}
        panels = {name: cohort.panel(genotypes, known.get(name)) for name in bounds}
        return [Chromosome(name, panels[name], cohort.response(panels[name]), stretches[name]) for name in bounds]

    def _offsets(
        self, panel: Panel, response: Columns, stretches: Mapping[str, list[Stretch]], seed: int, folder: Path | None
    ) -> dict[str, Floats]:
        """What the other chromosomes predict of the trait."""
        if len(stretches) < 2:
            return {}
        folds = polygenic.fold_of_people(len(response), seed)
        names, p = list(stretches), len(panel.markers)
        device = resolve_device(self.device)
        pieces = [(panel, response, stretches[name], folds, p, device) for name in names]
        found = self._pieces("Predicting from the rest of the genome", polygenic.Predictions.of, pieces, folder)
        return polygenic.offsets_of_others({n: f.values for n, f in zip(names, found, strict=True)}, response, folds)

    def _scan(self, chromosomes: list[Chromosome], groups: Partitions, seeds: list[int], folder: Path | None) -> Scan:
        """The first pass."""
        device = resolve_device(self.device)
        pieces = [
            (one.panel, one.response, run, groups.cuts, groups.labels, self.n_mirrors, seeds, device)
            for one in chromosomes
            for run in one.runs()
        ]
        return Scan.joined(self._pieces("Copying and screening groups", scan, pieces, folder))

    def _kept(self, found: Scan, chromosomes: list[Chromosome], n: int) -> Mask:
        """The markers that the learner sees, (resolutions, draws, markers)."""
        kept = np.zeros(found.scores.shape, dtype=bool)
        most = most_kept(n, self.n_mirrors, len(found.groups), found.scores.shape[1])
        for row, groups in enumerate(found.groups):
            for draw, scores in enumerate(found.scores[row]):
                kept[row, draw] = best_groups(scores, groups, self.screen)
                for one in chromosomes:
                    here, first = one.markers, one.markers.start
                    scored = np.where(kept[row, draw, here], scores[here], 0)
                    kept[row, draw, here] &= best_groups(scored, groups[here] - first, most)
        return kept

    def _learn(
        self,
        chromosomes: list[Chromosome],
        cohort: Cohort,
        found: Scan,
        kept: Mask,
        seeds: list[int],
        folder: Path | None,
    ) -> list[Learnt]:
        """The second pass: fits for each resolution and draw, chromosome after chromosome."""
        pieces = []
        for one in chromosomes:
            labels = (found.groups[:, one.markers], found.blocks[one.markers], kept[..., one.markers])
            data = (one.panel, one.response, cohort.labels, one.stretches)
            pieces.append((*data, *labels, self.n_mirrors, seeds, resolve_device(self.device)))
        return self._pieces("Learning from groups", learn, pieces, folder)

    def _pieces(
        self, title: str, work: Callable[..., Any], pieces: list[tuple[Any, ...]], folder: Path | None
    ) -> list[Any]:
        """What the work makes of all pieces; those on disk are taken from there."""
        kind = {scan: Scan, learn: Learnt}.get(work, polygenic.Predictions)
        start, names = time.perf_counter(), [f"{kind.__name__.lower()}-{number}" for number in range(len(pieces))]
        found = {name: piece for name in names if (piece := load(folder, name, kind)) is not None}
        waiting = [number for number, name in enumerate(names) if name not in found]
        with progress(title, len(pieces), self.progress) as tick:
            tick(len(found))
            jobs = resolve_jobs(self.n_jobs)
            some = [pieces[number] for number in waiting]
            for place, piece in run_pieces(work, some, n_jobs=jobs, prefer="threads", folder=folder):
                name = names[waiting[place]]
                store(folder, name, piece)
                found[name] = piece
                tick(1)
        self.seconds_[title.lower()] = time.perf_counter() - start
        return [found[name] for name in names]

    def _store(
        self,
        genotypes: PackedGenotypes,
        cohort: Cohort,
        groups: Partitions,
        found: Scan,
        kept: Mask,
        learnt: list[Learnt],
    ) -> Self:
        """Results of the markers in use as those of all markers."""
        used, p = cohort.markers, genotypes.n_markers
        rows, draws, _ = found.scores.shape
        self.resolutions_ = groups.names
        self.groups_ = np.tile(np.arange(p), (rows, 1))
        self.groups_[:, used] = used[found.groups]
        statistics, leads = (
            np.concatenate([getattr(one, k) for one in learnt], axis=-1) for k in ("statistics", "leads")
        )
        self._group_draws, self.leads_ = np.zeros((rows, draws, p)), np.zeros((rows, p))
        self.leads_[:, used] = leads.mean(axis=1)
        for row, groups_of in enumerate(found.groups):
            first = np.unique(groups_of)
            self._group_draws[row][:, used[first]] = statistics[row][:, first]
        self.explained_by_others_, self.screened_ = np.zeros((rows, p)), np.zeros((rows, p), dtype=bool)
        self.explained_by_others_[:, used] = found.explained
        self.screened_[:, used] = kept.any(axis=1)
        self.used_ = np.isin(np.arange(p), used)
        self.n_people_, self.rare_, self.missing_ = cohort.n, cohort.rare, cohort.missing
        self._genotypes = genotypes
        counting = {"offset": self.offset, "n_mirrors": self.n_mirrors}
        by_group = np.array([selection.repeated_q_values(one, **counting) for one in self._group_draws])
        self.group_q_values_ = np.take_along_axis(by_group, self.groups_, axis=1)
        self.group_statistics_ = np.take_along_axis(np.median(self._group_draws, axis=1), self.groups_, axis=1)
        self.group_supports_ = self.reselect_groups(self.fdr)
        return self

    def reselect_groups(self, fdr: float) -> Mask:
        """The markers of the groups that are discovered at another level, (resolutions, markers)."""
        check_is_fitted(self)
        return np.asarray(self.group_q_values_ <= checks.check_fdr(fdr))

    def discoveries(self, fdr: float | None = None) -> Any:
        """The discovered groups of every resolution, strongest first: a pandas frame where there is pandas."""
        return as_frame(self.discovered(fdr))

    def discovered(self, fdr: float | None = None) -> list[Row]:
        """The same as a list of rows; `members` is a list of names."""
        known, found = self._genotypes, (self.group_statistics_, self.group_q_values_, self.leads_)
        return Resolved(
            self.resolutions_, self.groups_, *found, lambda j: str(known.names[j]), known.chromosomes, known.positions
        ).rows(self.reselect_groups(self.fdr if fdr is None else fdr))
