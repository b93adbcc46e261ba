"""Damage small files of every format and read them: each is read, or ends in one line that says why not.

    python tests/io/fuzz_readers.py --files 20000 --seed 0

Anything else is a finding, printed with the number that repeats it (--only NUMBER): another exception, a message of
several lines, a crash of the interpreter, more than 20 s or more than 2 GB. 20,000 files take some minutes.
"""

import argparse
import gzip
import io
import multiprocessing
import resource
import signal
import sys
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from fuzz_bases import BASES, Files

from neuralmirror.io.cleaning import Rules, clean
from neuralmirror.io.errors import DataError
from neuralmirror.io.formats import read_table
from neuralmirror.io.genotype_files import open_genotypes
from neuralmirror.io.loading import Dataset
from neuralmirror.io.options import ReadOptions

SECONDS, GIGABYTES = 20, 2
BATCH = 250  # files read by one process
INSERTED = [
    b"\0",
    b"\xff",
    b'"',
    b",",
    b"\n",
    b"\t",
    b";",
    b"-1",
    b"1e999",
    b"\x1f\x8b",
    b"NA",
    b"9" * 30,
    b"#",
    b"\xe9",
]


# ---- damage ----


def flipped(data: bytearray, rng: np.random.Generator) -> bytearray:
    for place in rng.integers(len(data), size=int(rng.geometric(0.5))):
        data[place] ^= 1 << int(rng.integers(8))
    return data


def replaced(data: bytearray, rng: np.random.Generator) -> bytearray:
    for place in rng.integers(len(data), size=int(rng.geometric(0.5))):
        data[place] = int(rng.choice([0, 1, 127, 128, 255, int(rng.integers(256))]))
    return data


def cut(data: bytearray, rng: np.random.Generator) -> bytearray:
    return data[: int(rng.integers(len(data)))]


def inserted(data: bytearray, rng: np.random.Generator) -> bytearray:
    place, piece = int(rng.integers(len(data))), INSERTED[int(rng.integers(len(INSERTED)))]
    return data[:place] + piece * int(rng.integers(1, 4)) + data[place:]


def _piece(data: bytearray, rng: np.random.Generator) -> tuple[int, int]:
    start = int(rng.integers(len(data)))
    return start, start + min(int(rng.geometric(0.02)), len(data))


def duplicated(data: bytearray, rng: np.random.Generator) -> bytearray:
    start, end = _piece(data, rng)
    return data[:end] + data[start:end] + data[end:]


def removed(data: bytearray, rng: np.random.Generator) -> bytearray:
    start, end = _piece(data, rng)
    return data[:start] + data[end:]


def shuffled(data: bytearray, rng: np.random.Generator) -> bytearray:
    lines = data.splitlines(keepends=True)
    some = rng.choice(len(lines), size=min(len(lines), int(rng.integers(2, 5))), replace=False)
    for line, place in zip([lines[i] for i in some], rng.permutation(some), strict=True):
        lines[place] = line
    return bytearray().join(lines)


DAMAGE = [flipped, replaced, cut, inserted, duplicated, removed, shuffled]


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """One or several kinds of damage; inside the packing as often as to the packed bytes."""
    if rng.random() < 0.5 and content.startswith(b"\x1f\x8b"):
        return gzip.compress(damaged(gzip.decompress(content), rng), mtime=0)
    if rng.random() < 0.6 and content.startswith(b"PK"):
        return _damaged_member(content, rng)
    data = bytearray(content)
    for _ in range(int(rng.geometric(0.7))):
        data = DAMAGE[int(rng.integers(len(DAMAGE)))](data, rng) if data else data
    return bytes(data)


def _damaged_member(content: bytes, rng: np.random.Generator) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        names = old.namelist()
        chosen = names[int(rng.integers(len(names)))]
        for name in names:
            member = old.read(name)
            new.writestr(name, damaged(member, rng) if name == chosen else member)
    return file.getvalue()


TOKENS = """
    1 2.5 -3 1,5 1,234 1.234,5 1e5 1e400 inf -999 0 007 12345678901234567890 a b red id IID sample y x[1] höhe NA - .. *
    2020-01-02 7:30 1.2.2020 12% =cmd # ? #N/A True False 0/1 <b> {{7}} ../x
""".split()  # noqa: SIM905


def _habit(rng: np.random.Generator) -> list[str]:
    kind, words = rng.random(), [str(word) for word in rng.choice(TOKENS, size=int(rng.integers(1, 6)))]
    numbers = [f"{v:.2f}" for v in rng.standard_normal(30)]
    return numbers if kind < 0.3 else [*numbers, words[0]] if kind < 0.5 else words


def soup(rng: np.random.Generator) -> bytes:
    """A table of odd cells, mostly of one width, under a header of odd names, some quoted, in some encoding."""
    mark = str(rng.choice([",", ";", "\t", "|", " "]))
    width, height = int(rng.integers(1, 8)), int(rng.integers(0, 40))
    habits = [_habit(rng) for _ in range(width)]  # the words of each column
    rows = (
        [[str(rng.choice(TOKENS)) for _ in range(width)]] if rng.random() < 0.3 else [[f"c{j}" for j in range(width)]]
    )
    rows += [[str(rng.choice(words)) for words in habits] for _ in range(height)]
    for row in rows:
        for j in range(len(row)):
            chance = rng.random()
            row[j] = str(rng.integers(-5, 99)) if chance < 0.003 else f'"{row[j]}{mark}"' if chance < 0.006 else row[j]
        if rng.random() < 0.005:
            row.append("")
    encoding = str(rng.choice(["utf-8", "utf-8", "latin-1", "utf-16", "utf-8-sig"]))
    return str(rng.choice(["\n", "\r\n", "\r"])).join(map(mark.join, rows)).encode(encoding)


def case(number: int, seed: int, bases: dict[str, Files]) -> tuple[str, Files]:
    """The format and the files of a number, one of them damaged."""
    rng = np.random.default_rng([seed, number])
    form = list(bases)[number % len(bases)]
    files = dict(bases[form])
    if form == "soup":
        return form, {"f.csv": soup(rng)}
    name = list(files)[int(rng.integers(len(files)))]
    return form, {**files, name: damaged(files[name], rng)}


# ---- reading ----


def opened(path: Path) -> str:
    """The same for a file that is opened as packed genotypes; other files are refused."""
    try:
        genotypes = open_genotypes(path)
        genotypes.parts_by_chromosome()
    except DataError as error:
        return "refused" if "\n" not in str(error) else f"several lines: {str(error)!r}"
    known = (genotypes.counts(0, genotypes.n_markers) >= 0).sum(axis=1)
    return "read" if (known == genotypes.allele_counts().known).all() else "packed genotypes that contradict themselves"


def outcome(path: Path) -> str:
    """ "read", "refused", or what should not have happened."""
    found = opened(path)
    if found not in ("read", "refused"):
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            table = read_table(path)
            read_table(path, ReadOptions(beside=True))  # as a file of phenotypes
        except DataError as error:
            return "refused" if "\n" not in str(error) else f"several lines: {str(error)!r}"
        try:
            clean(Dataset(table, "y", np.arange(len(table.values), dtype=float)), Rules())
        except ValueError:
            return "refused"
    return "read"


def _too_slow(*_: object) -> None:
    raise RuntimeError(f"more than {SECONDS} s")


def work(numbers: list[int], seed: int, bases: dict[str, Files], out: Connection) -> None:
    """Read each file; tell its number before and its outcome after."""
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    signal.signal(signal.SIGALRM, _too_slow)
    with TemporaryDirectory() as folder:
        for number in numbers:
            _, files = case(number, seed, bases)
            for name, content in files.items():
                (Path(folder) / name).write_bytes(content)
            out.send((number, None))
            signal.alarm(SECONDS)
            try:
                found = outcome(Path(folder) / next(iter(files)))
            except Exception:
                found = traceback.format_exc()
            signal.alarm(0)
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > GIGABYTES << 20:
                out.send((number, f"more than {GIGABYTES} GB after: {found}"))
                return
            out.send((number, found))


@dataclass
class Counts:
    """How many files of each format ended in which way, and what should not have happened."""

    ends: Counter[tuple[str, str]]
    findings: list[tuple[int, str]]

    def add(self, number: int, form: str, found: str) -> None:
        known = found in ("read", "refused")
        self.ends[form, found if known else "finding"] += 1
        if not known:
            self.findings.append((number, found))


def fuzz(numbers: Iterable[int], seed: int) -> Counts:
    """Read all files, in processes of their own that a crash cannot take the others with."""
    bases = {form: make() for form, make in BASES.items()}
    forms = list(bases)
    counts, left = Counts(Counter(), []), list(numbers)
    while left:
        batch, left = left[:BATCH], left[BATCH:]
        done = 0
        for number, found in _batch(batch, seed, bases):
            counts.add(number, forms[number % len(forms)], found)
            done += 1
        left = batch[done:] + left
    return counts


def _batch(batch: list[int], seed: int, bases: dict[str, Files]) -> list[tuple[int, str]]:
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=work, args=(batch, seed, bases, sender))
    process.start()
    sender.close()
    ended: list[tuple[int, str]] = []
    current: int | None = None
    while receiver.poll(SECONDS + 10):
        try:
            current, found = receiver.recv()
        except EOFError:
            break
        if found is not None:
            ended.append((current, found))
            current = None
    else:
        process.kill()
    process.join()
    if current is not None:
        ended.append((current, f"the process ended with {process.exitcode} (crash or hang)"))
    return ended


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--files", type=int, default=20_000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", type=int, help="one number, as a finding tells it")
    given = options.parse_args()
    counts = fuzz(range(given.files) if given.only is None else [given.only], given.seed)
    for form in BASES:
        ends = {end: counts.ends[form, end] for end in ("read", "refused", "finding")}
        print(f"{form:12}", ", ".join(f"{count} {end}" for end, count in ends.items()))
    for number, found in counts.findings[:20]:
        print(f"\n--only {number} --seed {given.seed} ({list(BASES)[number % len(BASES)]}): {found}")
    print(f"\n{sum(counts.ends.values())} files, {len(counts.findings)} findings")
    return bool(counts.findings)


if __name__ == "__main__":
    sys.exit(main())
