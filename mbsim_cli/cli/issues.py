"""Issues of a model file, as people read them: place, sentence, hint, and the source line with a mark below."""

import sys
from collections.abc import Iterable

from mbsim_cli.cli.streams import visible
from mbsim_cli.errors import Issue


def print_issues(issues: Iterable[Issue]) -> None:
    """Print issues on standard error."""
    for issue in issues:
        print(visible(str(issue)), file=sys.stderr)
        if issue.excerpt.strip():
            margin = f"{issue.line:5d} | "
            print(margin + visible(issue.excerpt.rstrip()), file=sys.stderr)
            indent = "".join("\t" if letter == "\t" else " " for letter in issue.excerpt[: issue.column - 1])
            print(" " * (len(margin) - 2) + "| " + indent + "^", file=sys.stderr)
