"""The file that HDF5 writes to. HDF5 crashes after a write that failed, so here none does: the fault is kept for us."""

import os

from mbsim_cli.system import read_at, write_at


class Sink:
    """A file object on a descriptor; ``error`` is the first fault, and what was written since is kept in memory."""

    def __init__(self, handle: int):
        self.error: OSError | None = None
        self._handle = handle
        self._place = 0
        self._lost: list[tuple[int, bytes]] = []  # (place, content), of which HDF5 may read some again

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a place, counted from the start or the end."""
        self._place = offset + (self._size() if whence == os.SEEK_END else 0)
        return self._place

    def tell(self) -> int:
        """Place of the next read or write."""
        return self._place

    def _size(self) -> int:
        ends = (place + len(content) for place, content in self._lost)
        return max(os.fstat(self._handle).st_size, *ends, 0)

    def read(self, size: int = -1) -> bytes:
        """The next bytes, fewer at the end."""
        buffer = bytearray(max(0, self._size() - self._place) if size < 0 else size)
        return bytes(buffer[: self.readinto(buffer)])

    def readinto(self, buffer) -> int:
        """Fill a buffer with the next bytes; what is not there reads as zeros."""
        view = memoryview(buffer).cast("B")
        done = 0
        while done < len(view) and (part := read_at(self._handle, len(view) - done, self._place + done)):
            view[done : done + len(part)] = part
            done += len(part)
        view[done:] = bytes(len(view) - done)
        for place, content in self._lost:
            first, last = max(place, self._place), min(place + len(content), self._place + len(view))
            if first < last:
                view[first - self._place : last - self._place] = content[first - place : last - place]
        self._place += len(view)
        return len(view)

    def write(self, content) -> int:
        """Write at the place, after a fault into memory."""
        view = memoryview(content).cast("B")
        if self.error is None:
            try:
                write_at(self._handle, view, self._place)
            except OSError as error:
                self.error = error
        if self.error is not None:
            self._lost.append((self._place, bytes(view)))
        self._place += len(view)
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        """Cut or extend the file."""
        size = self._place if size is None else size
        if self.error is None:
            try:
                os.ftruncate(self._handle, size)
            except OSError as error:
                self.error = error
        return size

    def flush(self) -> None:
        """Nothing waits."""
