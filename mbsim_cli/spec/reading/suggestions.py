"""Did-you-mean: the known name nearest to an unknown one."""

from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from typing import Any

MAX_SUGGESTIONS = 50  # looking for similar names is slow where thousands are wrong
ALIKE = 0.75  # similarity of words that begin with different letters; of others 0.6 is enough


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
    found = get_close_matches(folded, candidates, cutoff=0.6 if len(folded) > 2 else 0.5)
    for match in found:  # few mistakes of typing change the first letter: friction does not stand for description
        if folded[0] == match[0] or SequenceMatcher(None, folded, match).ratio() >= ALIKE:
            return by_folded[match]
    return None


def suggest(name: str, known: Iterable[str]) -> str | None:
    """Return "did you mean 'B'?", or a short list of what exists, or None."""
    known = list(known)
    match = nearest(name, known)
    if match is not None:
        return f"did you mean {match!r}?"
    if 0 < len(known) <= 12:
        return "known: " + ", ".join(sorted(known))
    return None


class Named(dict[str, Any]):
    """A dictionary by names whose KeyError says which name may be meant."""

    def __init__(self, kind: str, entries: Any):
        super().__init__(entries)
        self._kind = kind

    def __missing__(self, name: str) -> Any:
        raise KeyError(unknown(self._kind, name, self))

    def __reduce__(self) -> Any:
        return Named, (self._kind, dict(self))


def unknown(kind: str, name: object, known: Iterable[str]) -> str:
    """The sentence of a KeyError: there is none of the name, and which one may be meant."""
    hint = suggest(str(name), known)
    return f"no {kind} {name!r}" + (f"; {hint}" if hint else "")
