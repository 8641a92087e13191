"""Commands whose options count once: of an option that is given twice the library would take the last in silence."""

from collections import Counter
from typing import Any

from typer.core import TyperCommand

from mbsim_cli.errors import UsageError


class Command(TyperCommand):
    """A command that refuses a value stated twice."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As any command, once all values are known to be stated once."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        valued = (
            p for p in order if p.param_type_name == "option" and not (p.multiple or getattr(p, "is_flag", False))
        )
        for parameter, times in Counter(valued).items():
            if times > 1:
                raise UsageError(f"{max(parameter.opts, key=len)} is given twice; leave one of them out")
        return super().parse_args(ctx, args)
