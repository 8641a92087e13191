"""Standard streams that may be closed, full or of any encoding: lost warnings are ignored, a lost result raises."""

import contextlib
import errno
import io
import json
import os
import re
import sys

# Control characters of ASCII and Latin-1, line separators, bidirectional controls, and surrogates.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_closed_output = False


def visible(text: str) -> str:
    """The text with control characters escaped: texts from files must not control the terminal."""
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


class _Forgiving(io.FileIO):
    """An output stream that ignores errors of writing."""

    def write(self, data) -> int:
        """Write as much as possible; report all as written."""
        left = memoryview(data).cast("B")
        with contextlib.suppress(OSError):
            while len(left):
                left = left[os.write(self.fileno(), left) :]
        return memoryview(data).nbytes


def prepare() -> None:
    """Make the standard streams of this process usable."""
    global _closed_output
    _closed_output = not _is_open(1)
    for handle in (0, 1, 2):
        if not _is_open(handle):  # else the next opened file would become a standard stream
            os.dup2(os.open(os.devnull, os.O_RDWR), handle)
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), "utf-8")  # type: ignore
    encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
    sys.stderr = io.TextIOWrapper(_Forgiving(2, "w", closefd=False), encoding, "backslashreplace", write_through=True)


def _is_open(handle: int) -> bool:
    try:
        os.fstat(handle)
    except OSError:
        return False
    return True


def answer(text: str) -> None:
    """Write text or JSON to standard output, escaping characters that its encoding lacks; raises OSError."""
    if text and _closed_output:
        raise OSError(errno.EBADF, "it is closed")
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:  # in JSON, such characters occur only within strings
        text = re.sub(r"[^\x00-\x7f]", lambda found: json.dumps(found[0])[1:-1], text)
    if text:  # on a full disk even an empty write fails
        sys.stdout.write(text)
    sys.stdout.flush()
