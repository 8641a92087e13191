"""Entry point; imports nothing heavy, so that ``mbsim --help`` and an early Ctrl-C are quick."""

import sys

from mbsim_cli.cli import signals


def main() -> None:
    """Run the command line and exit with its code."""
    signals.install()
    try:
        from mbsim_cli.cli import outcome

        code = outcome.call(sys.argv[1:])
    except signals.Stopped as stop:  # before or after the command itself
        code = stop.exit_code
    sys.exit(code)


if __name__ == "__main__":
    main()
