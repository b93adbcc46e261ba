"""A short run of the fuzzer; `python tests/io/fuzz_readers.py` runs as many files as you like."""

from fuzz_readers import BASES, fuzz


def test_damaged_files_are_read_or_refused_in_one_line() -> None:
    counts = fuzz(range(13 * len(BASES)), seed=7)
    assert not counts.findings
    assert sum(counts.ends.values()) == 13 * len(BASES)
