"""Commands as mbsim has them: options count once, and help names arguments as people read them."""

from collections import Counter
from typing import Any

from typer.core import TyperCommand

from mbsim_cli.errors import UsageError


class Command(TyperCommand):
    """A command that refuses an option stated twice, of which the library would take the last in silence."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As any command, once all values are known to be stated once."""
        if ctx.resilient_parsing:  # a line that a shell completes: its last option may wait for its value
            return super().parse_args(ctx, args[:-1] if args and args[-1].startswith("-") else args)
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        valued = (
            p for p in order if p.param_type_name == "option" and not (p.multiple or getattr(p, "is_flag", False))
        )
        for parameter, times in Counter(valued).items():
            if times > 1:
                raise UsageError(f"{max(parameter.opts, key=len)} is given twice; leave one of them out")
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Arguments as their metavars state them; the library adds brackets and types, in each version others."""
        arguments = (p.metavar for p in self.get_params(ctx) if p.param_type_name == "argument")
        return [self.options_metavar or "", *arguments]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Rows of arguments and of options, as for the usage line."""
        rows: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                of_argument = parameter.param_type_name == "argument"
                rows[parameter.param_type_name].append((parameter.metavar, record[1]) if of_argument else record)
        for kind, records in rows.items():
            if records:
                with formatter.section(f"{kind.capitalize()}s"):
                    formatter.write_dl(records)
