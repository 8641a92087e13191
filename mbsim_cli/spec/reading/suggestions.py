"""Did-you-mean: the known name nearest to an unknown one."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that ``name`` was probably meant to be, or None."""
    by_folded = {candidate.lower(): candidate for candidate in known}
    folded = name.lower()[:100]
    if folded in by_folded:
        return by_folded[folded]
    candidates: Iterable[str] = by_folded
    if len(folded) <= 2:
        # one letter of two is much: only names as short are near
        candidates = [candidate for candidate in by_folded if len(candidate) <= len(folded) + 1]
    found = get_close_matches(folded, candidates, n=1, cutoff=0.6 if len(folded) > 2 else 0.5)
    return by_folded[found[0]] if found else None


def suggest(name: str, known: Iterable[str]) -> str | None:
    """Return "did you mean 'B'?", or a short list of what exists, or None."""
    known = list(known)
    match = nearest(name, known)
    if match is not None:
        return f"did you mean {match!r}?"
    if 0 < len(known) <= 12:
        return "known: " + ", ".join(sorted(known))
    return None
