"""The end of a command: the exit code, and a message or JSON object for each exception."""

import os
import re
import sys
from collections.abc import Sequence
from time import process_time
from typing import Any

from typer import BadParameter, Exit

from mbsim_cli.cli import signals
from mbsim_cli.cli.output import emit, faint, flush, print_issues
from mbsim_cli.cli.streams import visible
from mbsim_cli.errors import AnalysisError, InputOutputError, MbsimError, ModelError, at_a_shell, reason_of
from mbsim_cli.messages import ANALYSIS, FILE, INTERNAL, MODEL, USAGE, code_of

USAGE_FAULT: Any = BadParameter.__mro__[1]  # click's UsageError; its module depends on the version of typer
BROKEN_PIPE = 141  # 128 + SIGPIPE, as for any program whose reader has closed the pipe
INTERNAL_ERROR = 70  # EX_SOFTWARE: a defect of the program, not of its input
FAMILIES = {2: USAGE, 3: MODEL, 4: ANALYSIS, 5: FILE, INTERNAL_ERROR: INTERNAL.family}  # of messages, by exit code
OUT_OF_MEMORY = "there is not enough memory; a smaller model, fewer parameters or fewer bodies need less"
_WORDS = {  # of typer for options that are numbers, and ours
    "Input should be a valid integer, unable to parse string as an integer": "must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "must be a number",
    "Input should be greater than or equal to": "must be at least",
    "Input should be less than or equal to": "must be at most",
}
_COMMANDS = {  # by the words of other programs, and of model files
    "study": "sweep", "simulate": "run", "solve": "run", "optimise": "optimize", "convert": "export",
}  # fmt: skip
_CHOICE = re.compile(r"'([^']*)' is not one of (.*)")
REPORT_AT = "please report it with the model file and what MBSIM_DEBUG=1 shows"


_start: float | None = None  # processor time when the command began [s]; 0 for the first one of a process


def processor_time() -> float:
    """Processor time of this command [s], of the first one of a process with the imports before it."""
    return process_time() - (_start or 0.0)


def call(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; exceptions become messages."""
    global _start
    _start = 0.0 if _start is None else process_time()
    as_json = "--json" in arguments
    try:
        code = _run(arguments, as_json)
        flush()
        return code
    except OSError as error:
        with open(os.devnull, "w") as nowhere:  # where the last flush of the interpreter succeeds
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return BROKEN_PIPE
        return _fail(f"cannot write to standard output: {error.strerror}", InputOutputError.exit_code, as_json=False)


def _run(arguments: Sequence[str], as_json: bool) -> int:
    from mbsim_cli.cli.commands import app_of

    try:
        with at_a_shell():
            return app_of(arguments)(list(arguments), standalone_mode=False, prog_name="mbsim") or 0
    except signals.Stopped as stop:
        return _fail(str(stop), stop.exit_code, as_json, stop)
    except Exit as end:
        return end.exit_code
    except SystemExit as end:  # of typer: after completion, or when a reader closes the pipe during help
        return BROKEN_PIPE if end.code else 0
    except BrokenPipeError:
        raise
    except USAGE_FAULT as fault:
        return _fail(_usage(fault), 2, as_json)
    except ModelError as error:
        if as_json:
            emit(failure("the model is invalid", error.exit_code, error))
        else:
            print_issues(error.issues)
        return error.exit_code
    except MbsimError as error:
        return _fail(str(error), error.exit_code, as_json, error)
    except MemoryError:
        return _fail(OUT_OF_MEMORY, AnalysisError.exit_code, as_json)
    except RecursionError:
        return _fail("an expression of the model is nested too deeply", ModelError.exit_code, as_json)
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        return _fail(f"{reason_of(error)}{place}", InputOutputError.exit_code, as_json)
    except Exception as error:
        if os.environ.get("MBSIM_DEBUG"):
            raise
        sentence = f"internal error, a defect of mbsim ({type(error).__name__}: {error}); {REPORT_AT}"
        return _fail(" ".join(sentence.split()), INTERNAL_ERROR, as_json)


def _usage(fault: Any) -> str:
    sentence = fault.format_message().rstrip(".").replace("Value error, ", "")
    for theirs, ours in _WORDS.items():
        sentence = sentence.replace(theirs, ours)
    if (other := re.match(r"No such command '(\w+)'", sentence)) and other[1] in _COMMANDS:
        sentence = f"No such command {other[1]!r}. Did you mean {_COMMANDS[other[1]]!r}?"
    if choice := _CHOICE.search(sentence):
        from mbsim_cli.spec.reading.messages import nearest

        match = nearest(choice[1], re.findall("'([^']*)'", choice[2]))
        sentence += f"; did you mean {match!r}?" if match else ""
    sentence = " ".join(sentence.split())  # choices stand in lines of their own
    return f"{sentence} (see {fault.ctx.command_path} --help)" if fault.ctx else sentence


def _fail(sentence: str, exit_code: int, as_json: bool, error: BaseException | None = None) -> int:
    if as_json:
        emit(failure(sentence, exit_code, error))
    elif sentence:
        print(visible(f"mbsim: {sentence}") + faint(_code(sentence, exit_code)), file=sys.stderr)
    return exit_code


def _code(sentence: str, exit_code: int) -> str:
    """Code of the last message of a command; empty for exit codes without a family of messages."""
    family = FAMILIES.get(exit_code)
    return code_of(sentence, family) if family else ""


def failure(sentence: str, exit_code: int, error: BaseException | None = None) -> dict[str, Any]:
    """JSON object of a command that failed or was interrupted.

    ``partial`` names its partial result, ``kept`` a complete result that could not be renamed to its target; ``fit``
    holds the findings of a fit that could not be saved.
    """
    issues = [issue.as_dict() for issue in error.issues] if isinstance(error, ModelError) else []
    report = {"status": "failed", "exit_code": exit_code, "message": sentence, "errors": issues}
    if not issues and (code := _code(sentence, exit_code)):
        report["code"] = code
    left = {name: getattr(error, name, None) for name in ("partial", "kept", "fit")}
    return report | {name: path for name, path in left.items() if path}
