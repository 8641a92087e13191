"""Cases on a Dask cluster, each of whose workers assembles the model once."""

import pickle
from collections import deque
from collections.abc import Generator
from hashlib import sha256
from threading import local
from typing import Any

from mbsim_cli.errors import InputOutputError, UsageError, option
from mbsim_cli.study.listener import SILENT, Listener
from mbsim_cli.study.sweep.store import LOST, Case, Computed, Start, lost

TICK = 0.5  # s between two looks at signals
AHEAD = 4  # cases for each thread of the cluster that are handed over at once
PATIENCE = 30.0  # s until the scheduler and a worker must have answered
_known = local()  # evaluator of this thread of a worker, by what it was started by: assembling is not for two threads


class Cluster:
    """The workers of a scheduler; one that dies is replaced by others, as Dask does."""

    batch_size = 1

    def __init__(self, address: str, start: Start, listener: Listener):
        try:
            import distributed
        except ImportError:
            needed = "the package distributed; in a clone of mbsim: pip install '.[dask]'"
            raise UsageError(f"{option('dask')} needs {needed}") from None
        self._distributed, self._started, self._listener = distributed, pickle.dumps(start), listener
        try:
            self._client = distributed.Client(address, timeout=PATIENCE)
            self._client.wait_for_workers(1, timeout=PATIENCE)
        except (OSError, TimeoutError, ValueError) as error:
            raise InputOutputError(f"no Dask cluster answers at {address}: {error}") from error

    def compute(self, waiting: deque[Case]) -> Generator[Computed, None, None]:
        """Yield the cases as they are computed."""
        begun: dict[Any, Case] = {}
        try:
            while waiting or begun:
                while waiting and len(begun) < AHEAD * max(1, sum(self._client.nthreads().values())):
                    case = waiting.popleft()
                    begun[self._client.submit(_computed, self._started, case, pure=False)] = case
                for future in self._finished(list(begun)):
                    if future.done():  # or else its worker died before it was fetched, and Dask computes it again
                        yield _fetched(begun.pop(future), future)
                self._listener.poll()
        finally:
            self._client.cancel(list(begun))
            self._client.close()

    def _finished(self, futures: list[Any]) -> list[Any]:
        """Futures that finish within ``TICK``."""
        try:
            return list(self._distributed.wait(futures, timeout=TICK, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            return []


def _computed(started: bytes, case: Case) -> Computed:
    """The work of a worker of the cluster."""
    key = sha256(started).digest()
    if getattr(_known, "key", None) != key:
        _known.evaluator, _known.key = pickle.loads(started)(SILENT), key
    return _known.evaluator(case)


def _fetched(case: Case, future: Any) -> Computed:
    """The result of a worker; a case that no worker survived, or that none could begin, is lost."""
    status = future.status
    if status in ("error", "cancelled"):
        reason = future.exception()
    else:
        try:
            return future.result()
        except OSError:  # the scheduler is gone
            raise
        except Exception as error:  # Dask may give a case up while it is fetched, too
            status, reason = type(error).__name__, error
    return lost(case, LOST, " ".join(f"the cluster gave it up ({status}: {reason})".split()))
