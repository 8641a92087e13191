"""Faults to order; runs of the tool as in the tests of commands."""

from tests.cli.conftest import fivebar, mbsim, pendulum, process, variant

__all__ = ["fivebar", "mbsim", "pendulum", "process", "variant"]


def pytest_terminal_summary(terminalreporter):
    """Show what the campaigns counted."""
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in report.user_properties:
            if name == "counts":
                terminalreporter.write_line(value)
