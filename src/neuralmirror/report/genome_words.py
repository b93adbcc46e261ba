"""What can be said about the trust in an analysis of whole genomes, in plain words."""

from __future__ import annotations

import math
from typing import Any

from neuralmirror.report.trust import sign_note
from neuralmirror.report.verdicts import Note, Run, note


def notes(run: Run) -> list[Note]:
    """Findings about the run, and what asks for care."""
    balance = run["diagnostics"]
    return [
        _structure_note(run),
        note("caution", "Relatives were not looked for", RELATIVES),
        _polygenic_note(run["polygenic"]),
        note(*_of_groups(sign_note(balance["sign_balance"], balance["sign_balance_upper"]))),
        *(note("caution", "Said on the way", text) for text in run["warnings"]),
    ]


RELATIVES = (
    "The guarantee is for people who are independent of each other. Leave out one of each pair of close relatives "
    "before (plink2 --king-cutoff, say); predictions from the rest of the genome lessen the harm and do not undo it."
)


def _of_groups(told: tuple[str, str, str]) -> tuple[str, str, str]:
    """The same words about groups of markers."""
    verdict, title, text = (part.replace("features", "groups").replace("feature", "group") for part in told)
    return verdict, title, text


def _structure_note(run: Run) -> Note:
    """Whether ancestry was adjusted for, as far as the run can know."""
    data: dict[str, Any] = run["data"]
    if data["components"]:
        text = f"{data['components']} principal components of the genotypes are among what is adjusted for."
        return note("good", "Population structure is adjusted for", text)
    text = "Where ancestry goes with the trait, markers that tell ancestry can be discovered without acting on it."
    if data["covariates"]:
        more = " If your covariates hold principal components, this is taken care of; else give --components 10."
        return note("plain", "Population structure", text + more)
    return note("caution", "Population structure is not adjusted for", f"{text} --components 10 adjusts for it.")


def _polygenic_note(found: dict[str, Any]) -> Note:
    """What the rest of the genome says of the trait."""
    shares = list(found["shares"].values())
    if not shares:
        text = "Each chromosome was tested without adjusting for the others, which costs power where many loci matter."
        return note("plain", "The rest of the genome was not adjusted for", text)
    source = "the given predictions" if found["given"] else "ridge regressions on the other chromosomes"
    told = f"{min(shares):.1%} to {max(shares):.1%}" if len(shares) > 1 else f"{shares[0]:.1%}"
    text = f"By {source}; a chromosome is tested on what they leave of the trait."
    return note("good", f"The rest of the genome predicts {told} of the trait", text)


def conditions(run: Run) -> list[str]:
    """When the level holds, and what is approximate."""
    settings = run["settings"]
    level, copies = settings["fdr"], settings["n_mirrors"]
    needed = math.ceil(settings["offset"] / (copies * level) - 1e-9)
    lines = [
        "The bound is for each resolution on its own. There is none for the union over resolutions, nor for the one "
        "that looks best.",
        "A group is false if, given all other markers and what is adjusted for, the trait does not depend on any of "
        "its markers. A cause that was not genotyped can make a group true, and a true group need not hold the cause.",
        "The people must be independent of each other: no relatives, and no ancestry that goes with the trait unless "
        "it is adjusted for.",
        "The law of a group is estimated from markers near it; what lies further away is left to the adjustment.",
        f"The learner saw the groups with the highest scores, up to {settings['screen']} markers a resolution. A "
        "group's score is the largest of its own and of its copies', so the choice favours neither. Groups not seen "
        "have W = 0, which says nothing about them.",
        "The level must be fixed before looking at the result.",
    ]
    if needed > 1:
        lines.insert(1, f"With {copies} copies, {needed} or more groups of a resolution must stand out together.")
    if settings["n_repeats"] > 1:
        lines.append(
            f"{settings['n_repeats']} draws of the copies vote and at least half must agree; that the bound holds for "
            "the vote is experience, not proof."
        )
    return lines
