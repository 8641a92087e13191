"""Reading a file and those that it includes, merged into one tree of nodes."""

import codecs
import errno
import os
from collections.abc import Mapping

from mbsim_cli.errors import InputOutputError, Issue, ModelError
from mbsim_cli.spec.reading.nodes import MAX_ENTRIES, Node, NodeError, read_nodes
from mbsim_cli.spec.reading.source import Source
from mbsim_cli.spec.reading.suggestions import nearest
from mbsim_cli.system import open_regular

MAX_BYTES = 50_000_000
MAX_FILES = 100


def read_source(path: str | os.PathLike[str], texts: Mapping[str, str] | None = None) -> tuple[Source, list[Issue]]:
    """Return the merged source of a model and what is wrong with it as YAML.

    With ``texts`` files are looked up there by name, and none is opened.
    Raises InputOutputError when the file itself cannot be read, ModelError when nothing can be made of it.
    """
    file = os.fspath(path)
    try:
        text = _bytes(file, texts)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputOutputError(f"cannot read {file}: {reason}{_meant(file, texts)}") from None
    source = Source(file)
    reader = _Reader(source, texts)
    source.root = reader.read(file, text, ())
    if source.root is None or not isinstance(source.root.value, dict):
        raise ModelError(reader.issues or [_bare(source)])
    return source, reader.issues


def _meant(file: str, texts: Mapping[str, str] | None) -> str:
    """The model beside a file that is not there whose name is nearly the same."""
    folder, name = os.path.split(file)
    if texts is not None or os.path.exists(file) or not os.access(folder or ".", os.R_OK | os.X_OK):
        return ""
    models = (entry for entry in os.listdir(folder or ".") if entry.endswith((".yaml", ".yml")) and entry != name)
    by_stem = {os.path.splitext(entry)[0]: entry for entry in models}
    match = nearest(os.path.splitext(name)[0], by_stem)
    return f"; did you mean {os.path.join(folder, by_stem[match])}?" if match else ""


def _bare(source: Source) -> Issue:
    root = source.root
    line, column = (root.line, root.column) if root is not None else (1, 1)
    message = "the file is empty" if root is None or root.value is None else "the file is not a mapping of sections"
    excerpt = source.line(source.file, line)
    return Issue(source.file, line, column, "", message, "a model begins with 'mbsim: 1'", excerpt)


def _bytes(file: str, texts: Mapping[str, str] | None) -> bytes:
    if texts is not None:
        if file not in texts:
            raise FileNotFoundError(errno.ENOENT, "it is not stored with the model")
        return texts[file].encode()
    with open_regular(file) as stream:
        return stream.read(MAX_BYTES + 1)


class _Reader:
    def __init__(self, source: Source, texts: Mapping[str, str] | None) -> None:
        self._source = source
        self._texts = texts
        self._files = self._bytes = 0  # read, each as often as it is included
        self._room = MAX_ENTRIES
        self.issues: list[Issue] = []

    def read(self, file: str, text: bytes, above: tuple[str, ...]) -> Node | None:
        self._source.texts[file] = _decoded(text)
        self._bytes += len(text)
        if self._bytes > MAX_BYTES:
            self._report(file, NodeError(f"the files are larger than {MAX_BYTES // 1_000_000} MB", 1, 1))
            return None
        try:
            root, errors = read_nodes(text, file, self._room)
        except NodeError as error:
            self._report(file, error)
            return None
        self._room -= root.size if root is not None else 0
        for duplicate in errors:
            self._report(file, duplicate)
            if duplicate.path.count(".") < 2:
                self._source.twice.add(duplicate.path.partition(".")[0])
        if root is None or not isinstance(root.value, dict) or "include" not in root.value:
            return root
        return self._with_includes(root, file, (*above, os.path.realpath(file)))

    def _with_includes(self, root: Node, file: str, above: tuple[str, ...]) -> Node:
        merged = Node({}, file, root.line, root.column)
        entries = root.value["include"].value
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry.value, str) and (included := self._included(entry, file, above)) is not None:
                self._require_version(included, root)
                merged = merge(merged, included)
        return merge(merged, root)

    def _require_version(self, included: Node, root: Node) -> None:
        """Report an included file of another version of the format, which the file that includes it would hide."""
        own, other = root.value.get("mbsim"), included.value.get("mbsim")
        if own is not None and other is not None and other.value != own.value:
            message = f"is not the version of {root.file}, which includes this file"
            self._report(other.file, NodeError(message, other.line, other.column, path="mbsim"))

    def _included(self, entry: Node, file: str, above: tuple[str, ...]) -> Node | None:
        target = os.path.normpath(os.path.join(os.path.dirname(file), entry.value))
        if os.path.realpath(target) in above:
            self._report(file, NodeError(f"{entry.value!r} includes itself", entry.line, entry.column, path="include"))
            return None
        self._files += 1
        if self._files >= MAX_FILES:
            self._report(file, NodeError(f"more than {MAX_FILES} files", entry.line, entry.column, path="include"))
            return None
        try:
            text = _bytes(target, self._texts)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self._report(
                file, NodeError(f"cannot read {entry.value!r}: {reason}", entry.line, entry.column, path="include")
            )
            return None
        root = self.read(target, text, above)
        if root is not None and isinstance(root.value, dict):
            # what an included file includes is already merged into it
            root.value.pop("include", None)
            return root
        if root is not None:
            self._report(target, NodeError("the file is not a mapping of sections", root.line, root.column))
        return None

    def _report(self, file: str, error: NodeError) -> None:
        excerpt = self._source.line(file, error.line)
        self.issues.append(Issue(file, error.line, error.column, error.path, error.message, error.hint, excerpt))


def _decoded(text: bytes) -> str:
    """The text of a file, by the mark that it begins with as YAML wants it."""
    wide = text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return text.decode("utf-16" if wide else "utf-8", errors="replace").replace("\0", "\ufffd")


def merge(below: Node, above: Node) -> Node:
    """Return one node laid over another: mappings are merged key by key, anything else is replaced.

    A mapping of another ``type`` is something else, and replaces what is below it.
    """
    if not isinstance(below.value, dict) or not isinstance(above.value, dict):
        return above
    types = [part.value["type"].value for part in (below, above) if "type" in part.value]
    if len(types) == 2 and types[0] != types[1]:
        return above
    # a new mapping: an alias may share the old one
    entries = dict(below.value)
    for key, node in above.value.items():
        entries[key] = merge(entries[key], node) if key in entries else node
    merged = Node(entries, above.file, above.line, above.column)
    merged.key_line, merged.key_column = above.key_line, above.key_column
    return merged
