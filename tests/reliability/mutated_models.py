"""Change the bytes of saved models at random and load them: a ValueError or a selector, and nothing is ever executed.

python tests/reliability/mutated_models.py 10000
"""

import json
import random
import struct
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from neuralmirror import NeuralGaussianMirror

EXECUTED = ("exec", "compile", "os.system", "os.exec", "os.posix_spawn", "subprocess.Popen", "socket.connect", "import")
NAMES = ["__class__", "__dict__", "fit", "load", "_draws", "support_", "fdr", "n_features_in_", "_leaders", "x y", "a_"]
VALUES = [None, -1, 10**30, "x", [], [[[]]], {}, {"__reduce__": "os.system"}, True, 1e308, "__import__('os')"]


def main(mutations: int) -> list[str]:
    """What went wrong in so many mutations; nothing if all is well."""
    chance, wrong, loaded, executed = random.Random(0), [], 0, watch()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "model.safetensors"
        fitted().save(path)
        whole = path.read_bytes()
        attempt(path)  # whatever is imported on the way has been
        for number in range(mutations):
            changed = chance.choice((flipped, cut, doubled, renamed))(whole, chance)
            path.write_bytes(changed)
            executed.clear()
            outcome = attempt(path)
            loaded += outcome == "loaded"
            if outcome not in ("loaded", "refused"):
                wrong.append(f"mutation {number}: {outcome}")
            wrong += [f"mutation {number}: {event}" for event in executed]
    print(f"{mutations} mutations: {mutations - loaded - len(wrong)} refused, {loaded} loaded, {len(wrong)} problems")
    return wrong


def fitted() -> NeuralGaussianMirror:
    """A small selector with results."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 8))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return NeuralGaussianMirror(random_state=0).fit(x, x[:, 0])


def watch() -> list[str]:
    """A list to which everything that is executed adds itself."""
    seen: list[str] = []
    sys.addaudithook(lambda event, _: seen.append(event) if event in EXECUTED else None)
    return seen


def attempt(path: Path) -> str:
    """Load a file: what came of it."""
    try:
        NeuralGaussianMirror.load(path)
    except ValueError:
        return "refused"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    return "loaded"


def flipped(whole: bytes, chance: random.Random) -> bytes:
    """Some bytes changed, most of them in the header."""
    changed = bytearray(whole)
    end = chance.choice([16, 600, len(whole)])
    for _ in range(chance.choice([1, 1, 3, 20])):
        changed[chance.randrange(min(end, len(whole)))] = chance.randrange(256)
    return bytes(changed)


def cut(whole: bytes, chance: random.Random) -> bytes:
    """The beginning alone."""
    return whole[: chance.randrange(len(whole))]


def doubled(whole: bytes, chance: random.Random) -> bytes:
    """A part repeated."""
    start, end = sorted(chance.randrange(len(whole)) for _ in range(2))
    return whole[:end] + whole[start:]


def renamed(whole: bytes, chance: random.Random) -> bytes:
    """A well-formed file whose parameters or arrays have other names or values."""
    size = struct.unpack("<Q", whole[:8])[0]
    header = json.loads(whole[8 : 8 + size])
    record = json.loads(header["__metadata__"]["neuralmirror"])
    state = record["state"]
    for _ in range(chance.choice([1, 1, 3])):
        if chance.random() < 0.3:
            arrays = [key for key in header if key != "__metadata__"]
            header[chance.choice(NAMES)] = header.pop(chance.choice(arrays))
        else:
            state[chance.choice([*state, *NAMES])] = chance.choice(VALUES)
    header["__metadata__"]["neuralmirror"] = json.dumps(record)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + whole[8 + size :]


if __name__ == "__main__":
    problems = main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
    print("\n".join(problems[:20]))
    sys.exit(bool(problems))
