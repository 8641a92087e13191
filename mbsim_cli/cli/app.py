"""Entry point; it imports little, so that ``mbsim --help`` and an early Ctrl-C respond quickly."""

import _signal  # ``signal`` takes longer to import, and an early Ctrl-C would print a traceback
import atexit
import gc
import os
import sys
import warnings

TYPE_CHECKING = False  # not from ``typing``, whose import is slow
if TYPE_CHECKING:
    from typing import NoReturn

MOST_OBJECTS = 500_000  # of the garbage collector: more than a run allocates, fewer than compiling kernels


def main() -> None:
    """Run the command line and exit with its code."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)  # ends the process, without traceback
    gc.set_threshold(MOST_OBJECTS)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # the search for them takes longer than validation
    from mbsim_cli.cli import signals, streams

    streams.prepare()
    signals.install(as_json="--json" in sys.argv)
    if not sys.warnoptions:
        warnings.simplefilter("ignore", RuntimeWarning)  # mbsim reports numbers that are not finite
    from mbsim_cli.cli import outcome

    leave(outcome.call(sys.argv[1:]))


def leave(code: int) -> "NoReturn":
    """End the process after exit handlers, once output is flushed; freeing objects takes as long as a short run."""
    if watched():
        sys.exit(code)
    atexit._run_exitfuncs()
    os._exit(code)


def watched() -> bool:
    """Whether a debugger, profiler or interactive prompt requires a regular shutdown of the interpreter."""
    monitoring = getattr(sys, "monitoring", None)  # of Python 3.12 and later
    tools = monitoring is not None and any(map(monitoring.get_tool, range(6)))
    return bool(sys.gettrace() or sys.getprofile() or sys.flags.inspect or tools)


if __name__ == "__main__":
    main()
