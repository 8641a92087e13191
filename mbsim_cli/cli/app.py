"""Entry point; imports nothing heavy, so that ``mbsim --help`` and an early Ctrl-C are quick."""

import sys

from mbsim_cli.cli import signals, streams


def main() -> None:
    """Run the command line and exit with its code."""
    streams.prepare()
    signals.install(as_json="--json" in sys.argv)
    from mbsim_cli.cli import outcome

    sys.exit(outcome.call(sys.argv[1:]))


if __name__ == "__main__":
    main()
