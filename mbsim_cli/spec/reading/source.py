"""``Source``: files of a model and where in them every value stands; files merged, keys replaced."""

import codecs
import errno
import os
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import Any

from mbsim_cli.errors import InputOutputError, Issue, ModelError, UsageError
from mbsim_cli.spec.reading.messages import nearest, suggest
from mbsim_cli.spec.reading.nodes import MAX_ENTRIES, Node, NodeError, read_nodes
from mbsim_cli.system import open_regular

MAX_SHOWN = 1000
MAX_SPLIT = 5_000_000  # letters of a file of which lines are shown
Path = str | Sequence[str | int]
Keys = tuple[str | int, ...]


class Source:
    """Files of a model: the one given first, then those that it includes."""

    def __init__(self, file: str):
        self.file = file
        self.texts: dict[str, str] = {}
        self.root = Node({}, file, 1, 1)  # of the merged files
        self.twice: set[str] = set()  # sections with two items of one name, of which one is not seen
        self.stands_at: MutableMapping[Keys, Keys] = {}  # of what is made from other parts of the file, where they are
        self._lines: dict[str, list[str]] = {}

    @property
    def text(self) -> str:
        """The text of the model file itself."""
        return self.texts.get(self.file, "")

    def data(self) -> Any:
        """Return the merged files as plain lists, dicts and scalars."""
        return self.root.data()

    def line(self, file: str, line: int) -> str:
        """Return a line of a file, counted from 1; empty where there is none, or it or the file is too long to show."""
        if file not in self._lines:
            text = self.texts.get(file, "")
            self._lines[file] = text.splitlines() if len(text) <= MAX_SPLIT else []
        lines = self._lines[file]
        return lines[line - 1] if 0 < line <= len(lines) and len(lines[line - 1]) <= MAX_SHOWN else ""

    def locate(self, path: Path, offset: int | None = None, key: bool = False) -> tuple[str, int, int]:
        """Return file, line and column of what a path names in the file: of its key, or ``offset`` in a scalar."""
        nodes, complete = self._along(path)
        node = nodes[-1]
        if node.key_line > 0 and (key or isinstance(node.value, dict | list) or node.value is None):
            return node.file, node.key_line, node.key_column
        return node.file, node.line, node.column + (offset if offset and node.plain and complete else 0)

    def file_at(self, path: Path, name: str) -> FilePath:
        """Return a file that is named at a path, relative to the file that holds the path."""
        return FilePath(self.locate(path)[0]).parent / name

    def nearest(self, path: Path) -> Node:
        """Return the deepest node along a path."""
        return self._along(path)[0][-1]

    def is_set(self, path: Path) -> bool:
        """Whether what stands at a path comes from an option, and not from a file."""
        return self.nearest(path).line == 0

    def _along(self, path: Path) -> tuple[list[Node], bool]:
        # the nodes along the path, and whether they are all of it
        nodes = [self.root]
        keys = list(self._written(path))
        while nodes and keys:
            below, used = _step(nodes[-1].value, keys)
            if below is None:
                return nodes, False
            nodes.append(below)
            keys = keys[used:]
        return nodes, True

    def _written(self, path: Path) -> Sequence[str | int]:
        # the path in the file that a path in the model comes from
        keys = tuple(_split(path) if isinstance(path, str) else path)
        counted = tuple(int(key) if str(key).isdecimal() else key for key in keys)
        for count in range(min(len(keys), 4), 1, -1):
            if counted[:count] in self.stands_at:
                return (*self.stands_at[counted[:count]], *keys[count:])
        return keys

    def issue(
        self, path: Path, message: str, hint: str | None = None, offset: int | None = None, key: bool = False
    ) -> Issue:
        """Return an issue at a path, with file, line, column and the source line."""
        file, line, column = self.locate(path, offset, key)
        written = self._written(path)
        instance = next((node.instance for node in reversed(self._along(path)[0]) if node.instance), "")
        shown = path if isinstance(path, str) and list(written) == _split(path) else join(written)
        return Issue(file, line, column, shown, message + instance, hint, self.line(file, line), instance)


def join(path: Sequence[str | int]) -> str:
    """Return a path as shown to people: ``joints.A.bodies[1]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _split(path: str) -> list[str]:
    return [part for part in path.replace("[", ".").replace("]", "").split(".") if part]


def _step(value: Any, keys: list[Any]) -> tuple[Node | None, int]:
    if isinstance(value, list):
        index = int(keys[0]) if str(keys[0]).isdecimal() else -1
        return (value[index], 1) if 0 <= index < len(value) else (None, 0)
    if isinstance(value, dict):
        words = [str(key) for key in keys]
        if (count := _longest(words, value)) is not None:
            return value[".".join(words[:count])], count
    return None, 0


MAX_BYTES = 50_000_000
MAX_FILES = 100
DEFAULT_ANALYSIS = "forward_dynamics"  # that of an analysis without a type


KeysByType = Mapping[str, Collection[str]]  # of analyses by type


def read_source(
    path: str | os.PathLike[str], texts: Mapping[str, str] | None = None, keys: KeysByType = MappingProxyType({})
) -> tuple[Source, list[Issue]]:
    """Return the source of a model, merged with included files, and what is wrong with it as YAML.

    With ``texts`` files are looked up there by name, and none is opened. ``keys`` are those of analyses by type.
    Raises InputOutputError when the file itself cannot be read, ModelError when nothing can be made of it.
    """
    file = os.fspath(path)
    try:
        text = _bytes(file, texts)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputOutputError(f"cannot read {file}: {reason}{_meant(file, texts)}") from None
    source = Source(file)
    reader = _Reader(source, texts, keys)
    root = reader.read(file, text, ())
    if root is None or not isinstance(root.value, dict):
        line, column = (root.line, root.column) if root is not None else (1, 1)
        empty = root is None or root.value is None
        message = "the file is empty" if empty else "the file is not a mapping of sections"
        bare = Issue(file, line, column, "", message, "a model begins with 'mbsim: 1'", source.line(file, line))
        raise ModelError(reader.issues or [bare])
    source.root = root
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


def _bytes(file: str, texts: Mapping[str, str] | None) -> bytes:
    if texts is not None:
        if file not in texts:
            raise FileNotFoundError(errno.ENOENT, "it is not stored with the model")
        return texts[file].encode()
    with open_regular(file) as stream:
        return stream.read(MAX_BYTES + 1)


class _Reader:
    def __init__(self, source: Source, texts: Mapping[str, str] | None, keys: KeysByType) -> None:
        self._source, self._keys = source, keys
        self._texts = texts
        self._files = self._bytes = 0  # read, each as often as it is included
        self._room = MAX_ENTRIES
        self.issues: list[Issue] = []

    def read(self, file: str, text: bytes, above: tuple[str, ...]) -> Node | None:
        wide = text.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # as YAML asks for it
        self._source.texts[file] = text.decode("utf-16" if wide else "utf-8", errors="replace").replace("\0", "\ufffd")
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
        listed = root.value["include"]
        entries = listed.value
        if not isinstance(entries, list):
            hint = f"write [{entries}]" if isinstance(entries, str) else None
            self._refuse(listed, "must be a list", hint)
        for entry in entries if isinstance(entries, list) else []:
            if not isinstance(entry.value, str):
                self._refuse(entry, "must be a text")
            elif (included := self._included(entry, file, above)) is not None:
                own, other = root.value.get("mbsim"), included.value.get("mbsim")
                if own is not None and other is not None and other.value != own.value:  # which the merge would hide
                    self._refuse(other, f"is not the version of {root.file}, which includes this file", path="mbsim")
                merged = laid_over(merged, included, self._keys)
        return laid_over(merged, root, self._keys)

    def _included(self, entry: Node, file: str, above: tuple[str, ...]) -> Node | None:
        target = os.path.normpath(os.path.join(os.path.dirname(file), entry.value))
        if os.path.realpath(target) in above:
            self._refuse(entry, f"{entry.value!r} includes itself")
            return None
        self._files += 1
        if self._files >= MAX_FILES:
            self._refuse(entry, f"more than {MAX_FILES} files")
            return None
        try:
            text = _bytes(target, self._texts)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            self._refuse(entry, f"cannot read {entry.value!r}: {reason}")
            return None
        root = self.read(target, text, above)
        if root is not None and isinstance(root.value, dict):
            # what an included file includes is already merged into it
            root.value.pop("include", None)
            return root
        if root is not None:
            self._refuse(root, "the file is not a mapping of sections", path="")
        return None

    def _refuse(self, node: Node, message: str, hint: str | None = None, path: str = "include") -> None:
        self._report(node.file, NodeError(message, node.line, node.column, hint, path))

    def _report(self, file: str, error: NodeError) -> None:
        excerpt = self._source.line(file, error.line)
        self.issues.append(Issue(file, error.line, error.column, error.path, error.message, error.hint, excerpt))


def laid_over(below: Node, above: Node, keys: KeysByType) -> Node:
    """Return one file laid over another: sections that are null above are left out.

    An analysis without a type is forward dynamics. One of another type above it leaves out the keys that it has not.
    """
    left_out = {key for key, node in above.value.items() if node.value is None and key in below.value}
    merged = merge(below, above).value
    parts = [file.value.get("analysis") for file in (below, above)]
    types = [part.value.get("type") if part is not None and isinstance(part.value, dict) else None for part in parts]
    if types[0] is None and types[1] is not None and types[1].value in list(keys):
        foreign = set(keys[DEFAULT_ANALYSIS]) - set(keys[types[1].value]) - set(above.value["analysis"].value)
        entries = {key: node for key, node in merged["analysis"].value.items() if key not in foreign}
        merged["analysis"] = above.value["analysis"].at_same_place(entries)
    return above.at_same_place({key: node for key, node in merged.items() if key not in left_out})


def merge(below: Node, above: Node) -> Node:
    """Lay one node over another: mappings of one ``type`` are merged key by key, anything else is replaced."""
    if not isinstance(below.value, dict) or not isinstance(above.value, dict):
        return above
    types = [part.value["type"].value for part in (below, above) if "type" in part.value]
    if len(types) == 2 and types[0] != types[1]:
        return above
    # a new mapping: an alias may share the old one
    entries = dict(below.value)
    for key, node in above.value.items():
        entries[key] = merge(entries[key], node) if key in entries else node
    return above.at_same_place(entries)


MARK = "."  # that paths of keys begin with among overrides
AXES = ("x", "y", "z")
NOT_SET = {
    "include": "files are merged before keys are set",
    "repeat": "set the constants that it reads, or keys of the items that it makes",
    "x-": "sections whose names begin with x- are not read",
}


def is_key(name: str) -> bool:
    """Whether an override replaces a key of the file rather than a parameter."""
    return name.startswith(MARK)


def set_keys(source: Source, overrides: Mapping[str, str], named: Collection[str]) -> dict[str, str]:
    """Put values (YAML) of the command line in place of keys of a file, or add missing keys; return the rest.

    Items of the sections ``named`` have names that users choose: there only items that exist can change. The rest are
    keys of items that repetitions have still to make. Raises UsageError.
    """
    rest: dict[str, str] = {}
    for name, text in overrides.items():
        if is_key(name):
            setting = _Setting(name, text, source.file)
            if "repeat" in source.root.value and setting.waits(source.root, named):
                rest[name] = text
            else:
                source.root = setting.put(source.root, named)
    return rest


class _Setting:
    """One key with its new value."""

    def __init__(self, name: str, text: str, file: str):
        path = name.removeprefix(MARK)
        self._option = f"--set {path}={text}"
        self._words = path.replace("[", ".").replace("]", "").split(".")
        if not all(self._words):
            self._refuse("a key is written as analysis.step, entries of lists as points.A.rod[0]")
        for section, why in NOT_SET.items():
            if self._words[0] == section or (section.endswith("-") and self._words[0].startswith(section)):
                self._refuse(f"{self._words[0]!r} cannot be set: {why}")
        self._value = self._read(text, file)

    def waits(self, root: Node, named: Collection[str]) -> bool:
        """Whether the item does not exist yet."""
        section = root.value.get(self._words[0])
        items = section.value if section is not None and isinstance(section.value, dict) else {}
        return len(self._words) > 1 and self._words[0] in named and _longest(self._words[1:], items) is None

    def put(self, root: Node, named: Collection[str]) -> Node:
        """Return the tree with the value in it; nodes along the path are copied, as aliases may share them."""
        return self._put(root, self._words, self._words[0] in named, 0)

    def _put(self, node: Node | None, words: list[str], named: bool, depth: int) -> Node:
        if not words:
            return self._value
        node = node if node is not None else self._value
        below = {} if node is self._value else node.value
        if isinstance(below, list):
            index = self._index(words[0], below)
            entry = self._put(below[index], words[1:], False, depth + 1)
            return node.at_same_place([*below[:index], entry, *below[index + 1 :]], node.instance)
        if not isinstance(below, dict):
            if below is not None and depth:
                self._refuse(f"{'.'.join(self._words[:depth])} is {below!r}, and has no key {words[0]!r}")
            below = {}
        count = _longest(words, below)
        if count is None and named and depth == 1:
            hint = suggest(words[0], below)
            self._refuse(f"{self._words[0]} has no {words[0]!r}" + (f"; {hint}" if hint else ""))
        count = count or 1
        key = ".".join(words[:count])
        entry = self._put(below.get(key), words[count:], named, depth + count)
        return node.at_same_place(below | {key: entry}, node.instance)

    def _index(self, word: str, entries: list[Node]) -> int:
        """Place in a list: a number, the name of an entry, or an axis of a vector."""
        if word.isdecimal() and int(word) < len(entries):
            return int(word)
        if word in AXES and len(entries) == len(AXES):
            return AXES.index(word)
        for place, entry in enumerate(entries):
            own = entry.value.get("name") if isinstance(entry.value, dict) else entry
            if own is not None and own.value == word:
                return place
        return self._refuse(f"there is no entry {word!r} in a list of {len(entries)}; entries count from 0")

    def _read(self, text: str, file: str) -> Node:
        try:
            node, wrong = read_nodes(text.encode(), file)
        except NodeError as error:
            wrong = [error]
        for first in wrong:
            self._refuse(first.message + (f"; {first.hint}" if first.hint else ""))
        node = node if node is not None else Node(None, file, 0, 0)
        nodes = [node]
        for entry in nodes:  # which grows; nothing of it stands in the file
            nodes += entry.below
            entry.line, entry.column, entry.key_line, entry.key_column, entry.plain = 0, 0, 0, 0, False
            entry.instance = f" (in {self._option})"
        return node

    def _refuse(self, why: str) -> Any:
        raise UsageError(f"{self._option}: {why}")


def _longest(words: list[str], entries: Mapping[str, Any]) -> int | None:
    """How many words make the longest key that exists: names of checks may hold dots."""
    return next((n for n in range(min(len(words), 6), 0, -1) if ".".join(words[:n]) in entries), None)
