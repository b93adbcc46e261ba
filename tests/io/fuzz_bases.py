"""One small whole file of each format, as bytes by name: what the fuzzer damages."""

import gzip
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

N, P = 24, 6
NAMES = [f"rs{j}" for j in range(P)]
SAMPLES = [f"s{i}" for i in range(N)]

Files = dict[str, bytes]  # the first is the one that is read


def genotypes() -> np.ndarray:
    return np.random.default_rng(0).choice([-1, 0, 1, 2], (N, P), p=[0.05, 0.4, 0.3, 0.25]).astype(np.int8)


def delimited(mark: str = ",", decimal: str = ".", encoding: str = "utf-8") -> bytes:
    rng = np.random.default_rng(1)
    lines = ["# exported", mark.join(["id", "höhe", '"a b"', "count", "colour", "day", "y"])]
    for i in range(N):
        numbers = [f"{v:.3f}".replace(".", decimal) for v in rng.standard_normal(2)]
        cells = [SAMPLES[i], *numbers, str(i * i), ["red", '"gr\neen"', "NA"][i % 3], f"2020-01-{i + 1:02}", str(i % 2)]
        lines.append(mark.join(cells))
    return ("\n".join(lines) + "\n").encode(encoding)


def vcf() -> bytes:
    words = {0: "0/0", 1: "0|1", 2: "1/1", -1: "./."}
    lines = ["##fileformat=VCFv4.2", "##contig=<ID=1>", "##FORMAT=<ID=GT,Number=1,Type=String,Description=G>"]
    lines.append("\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT", *SAMPLES]))
    for j, column in enumerate(genotypes().T):
        calls = [f"{words[int(v)]}:9" for v in column]
        lines.append("\t".join(["1", str(100 * j), NAMES[j], "G", "A", ".", ".", ".", "GT:DP", *calls]))
    return ("\n".join(lines) + "\n").encode()


def bed() -> Files:
    codes = np.array([0b11, 0b10, 0b00, 0b01])[genotypes()].reshape(-1, 4, P)
    packed = (codes << np.array([0, 2, 4, 6])[:, None]).sum(axis=1).astype(np.uint8)
    bim = "".join(f"1\t{name}\t0\t{100 * j}\tA\tG\n" for j, name in enumerate(NAMES))
    fam = "".join(f"F {sample} 0 0 1 {i}.5\n" for i, sample in enumerate(SAMPLES))
    return {"f.bed": b"\x6c\x1b\x01" + packed.T.tobytes(), "f.bim": bim.encode(), "f.fam": fam.encode()}


def pgen() -> Files:
    import pgenlib

    with TemporaryDirectory() as folder:
        path = Path(folder) / "f.pgen"
        with pgenlib.PgenWriter(str(path).encode(), N, variant_ct=P, nonref_flags=False) as writer:
            for column in genotypes().T:
                writer.append_biallelic(np.ascontiguousarray(np.where(column < 0, -9, column).astype(np.int8)))
        content = path.read_bytes()
    rows = "".join(f"1\t{100 * j}\t{name}\tG\tA\n" for j, name in enumerate(NAMES))
    people = "".join(f"{sample}\t1\t{i}.5\n" for i, sample in enumerate(SAMPLES))
    pvar, psam = f"#CHROM\tPOS\tID\tREF\tALT\n{rows}", f"#IID\tSEX\theight\n{people}"
    return {"f.pgen": content, "f.pvar": pvar.encode(), "f.psam": psam.encode()}


def certain(column: np.ndarray) -> np.ndarray:
    """Probabilities (n, 3) of a genotype that is known; of a missing one there are none."""
    found = np.eye(3)[column]
    found[column < 0] = np.nan
    return found


def bgen(phased: bool = False, samples: bool = True) -> Files:
    from bgen import BgenWriter

    haplotypes = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 1], [np.nan] * 4])  # by copies; missing is the last
    with TemporaryDirectory() as folder:
        path = Path(folder) / "f.bgen"
        with BgenWriter(str(path), N, samples=SAMPLES if samples else []) as writer:
            for j, column in enumerate(genotypes().T):
                values = haplotypes[column] if phased else certain(column)
                writer.add_variant(f"v{j}", NAMES[j], "1", 100 * j, ["G", "A"], values, phased=phased)
        return {"f.bgen": path.read_bytes()}


def npz() -> bytes:
    file = io.BytesIO()
    traits = np.random.default_rng(2).standard_normal((N, 2))
    np.savez(file, X=genotypes(), markers=np.array(NAMES), samples=np.array(SAMPLES), pos=np.arange(P), traits=traits)
    return file.getvalue()


def npy() -> bytes:
    file = io.BytesIO()
    np.save(file, np.random.default_rng(3).standard_normal((N, P)))
    return file.getvalue()


def frame(kind: str) -> bytes:
    import pandas as pd

    rng, file = np.random.default_rng(4), io.BytesIO()
    table = pd.DataFrame(rng.standard_normal((N, 3)), columns=["a", "b", "c"])
    table["id"], table["word"] = SAMPLES, ["red", "green", None] * (N // 3)
    table["kind"] = pd.Categorical(["x", "y"] * (N // 2))
    table["day"] = pd.date_range("2020-01-01", periods=N)
    table["parts"] = [[1, 2]] * N
    getattr(table, f"to_{kind}")(file)
    return file.getvalue()


def h5ad(packed_x: bool = False) -> bytes:
    import h5py
    from scipy.sparse import csr_matrix

    file, packed = io.BytesIO(), csr_matrix(np.random.default_rng(5).poisson(0.7, (N, P)).astype(float))
    with h5py.File(file, "w") as h5:
        if packed_x:
            h5.create_dataset("X", data=packed.toarray(), chunks=(8, 3), compression="gzip")
        else:
            group = h5.create_group("X")
            group.attrs.update({"encoding-type": "csr_matrix", "shape": (N, P)})
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(packed, part)
        obs, var = h5.create_group("obs"), h5.create_group("var")
        obs.attrs.update({"_index": "cell", "column-order": ["kind", "age"]})
        obs["cell"], obs["age"] = SAMPLES, np.arange(N, dtype=float)
        kind = obs.create_group("kind")
        kind["codes"], kind["categories"] = np.array([0, 1] * (N // 2), np.int8), ["B cell", "T cell"]
        var.attrs.update({"_index": "gene", "column-order": np.array([], dtype=float)})
        var["gene"] = NAMES
        h5.create_group("layers")["raw"] = packed.toarray()
    return file.getvalue()


def xlsx() -> bytes:
    import openpyxl

    book, file = openpyxl.Workbook(), io.BytesIO()
    sheet = book.active
    sheet.append(["id", "a", "b", "word", "y"])
    for i, (a, b) in enumerate(np.random.default_rng(6).standard_normal((N, 2))):
        sheet.append([SAMPLES[i], a, b, "xy"[i % 2], i])
    book.create_sheet("notes").append(["nothing"])
    book.save(file)
    return file.getvalue()


def zipped(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("f.csv", content)
    return file.getvalue()


BASES: dict[str, Callable[[], Files]] = {
    "soup": lambda: {"f.csv": b""},  # made anew each time
    "csv": lambda: {"f.csv": delimited()},
    "tsv": lambda: {"f.tsv": delimited("\t")},
    "semicolons": lambda: {"f.csv": delimited(";", ",", "latin-1")},
    "utf-16": lambda: {"f.csv": delimited("\t", ",", "utf-16")},
    "csv.gz": lambda: {"f.csv.gz": gzip.compress(delimited(), mtime=0)},
    "npz": lambda: {"f.npz": npz()},
    "npy": lambda: {"f.npy": npy()},
    "parquet": lambda: {"f.parquet": frame("parquet")},
    "feather": lambda: {"f.feather": frame("feather")},
    "h5ad": lambda: {"f.h5ad": h5ad()},
    "h5ad packed": lambda: {"f.h5ad": h5ad(packed_x=True)},
    "bed": bed,
    "pgen": pgen,
    "bgen": bgen,
    "bgen phased": lambda: bgen(phased=True),
    "vcf": lambda: {"f.vcf": vcf()},
    "vcf.gz": lambda: {"f.vcf.gz": gzip.compress(vcf(), mtime=0)},
    "xlsx": lambda: {"f.xlsx": xlsx()},
    "zip": lambda: {"f.zip": zipped(delimited())},
}
