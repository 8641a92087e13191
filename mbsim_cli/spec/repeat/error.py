"""What is wrong with a repetition, at a node of the file."""

from mbsim_cli.spec.reading.nodes import Node


class RepeatError(Exception):
    """A repetition is wrong at a node, or at the key that it stands under; ``path`` is that of the block."""

    def __init__(self, node: Node, message: str, hint: str | None = None, offset: int | None = None, key: bool = False):
        super().__init__(message)
        self.node, self.message, self.hint, self.offset, self.key = node, message, hint, offset, key
        self.path: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, int, int]:
        """File, line and column."""
        node = self.node
        if self.key and node.key_line:
            return node.file, node.key_line, node.key_column
        return node.file, node.line, node.column + (self.offset if self.offset and node.plain else 0)
