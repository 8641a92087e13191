"""``mbsim view``: a model, a result, a study or a fit in the browser."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from mbsim_cli.cli import options
from mbsim_cli.cli.output import emit, flush, say, tell
from mbsim_cli.errors import MbsimError, ModelError, UsageError, os_errors

MODELS = (".yaml", ".yml")
Source = Annotated[Path, options.file("MODEL.yaml|RESULT.h5|STUDY|FIT.json", "Model file, or what mbsim report takes.")]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page, or only print where it is.")]
Live = Annotated[bool, typer.Option("--live", help="Serve a model, and reload the page when its file changes.")]


def command(
    source: Source,
    browser: Browser = True,
    live: Live = False,
    port: Annotated[int | None, options.value("N", "Port of --live.", "any that is free", min=1, max=65535)] = None,
    parameter: options.Overrides = None,
    keys: options.SetKeys = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Show a model or a result in the browser.

    A model stands at its initial position, with its loops closed.
    """
    options.limit_threads(None)
    is_model = source.suffix.lower() in MODELS
    if live and not is_model:
        raise UsageError("--live is for model files, which people edit")
    if port and not live:
        raise UsageError("--port is for --live, which serves the page; a page without it is a file")
    if (parameter or keys) and not is_model:
        raise UsageError("-p and -s are for model files; a result keeps the values that it was computed with")
    overrides = options.parse_overrides(parameter, keys)
    if live:
        return _serve(source, overrides, port, browser, json)
    from mbsim_cli.report.page import page
    from mbsim_cli.study.pictures.pages import model_page, page_of

    data = model_page(source, overrides)[0] if is_model else page_of(source)
    place = Path(tempfile.mkdtemp(prefix="mbsim-view-")) / f"{source.resolve().name.partition('.')[0] or 'page'}.html"
    place.write_text(page(data, data["title"]), "utf-8", "replace")
    _show(place.as_uri(), {"page": str(place), "source": str(source), "kind": data["kind"]}, browser, json, quiet)


def _show(address: str, report: dict[str, Any], browser: bool, json: bool, quiet: bool) -> None:
    if json:
        emit(report)
    else:
        tell(str(report["page"]))
    if browser:
        import webbrowser

        if not webbrowser.open(address):
            say("no browser could be opened; the page is there", quiet)


class Watched:
    """The page of a model, updated when one of its files has changed."""

    def __init__(self, path: Path, overrides: Mapping[str, str]):
        self._path, self._overrides = path, overrides
        self._stamps: dict[Path, str] = {}
        self.text = b""

    @property
    def version(self) -> str:
        """Modification times and sizes of the files."""
        return ".".join(map(_stamp, self._stamps))

    def refresh(self) -> None:
        """Update the page if a file has changed; if the model has errors, the page lists them."""
        before = {file: _stamp(file) for file in {self._path: "", **self._stamps}}
        if before == self._stamps:
            return
        from mbsim_cli.report.page import page
        from mbsim_cli.study.pictures.pages import model_page

        try:
            data, files = model_page(self._path, self._overrides)
        except MbsimError as error:
            issues = error.issues if isinstance(error, ModelError) else []
            data = {"kind": "error", "title": self._path.name, "errors": list(map(str, issues)) or [str(error)]}
            files = [*before, *(Path(issue.file) for issue in issues)]  # also in files that were read before
        self._stamps = {file: before.get(file) or _stamp(file) for file in [self._path, *files]}
        version = ".".join(self._stamps.values())
        self.text = page(data | {"version": version}, data["title"], live=True).encode("utf-8", "replace")


def _stamp(file: Path) -> str:
    try:
        found = file.stat()
        return f"{found.st_mtime_ns}-{found.st_size}"
    except OSError:
        return "none"


def _serve(path: Path, overrides: Mapping[str, str], port: int | None, browser: bool, json: bool) -> None:
    """Serve the page of a model, to this machine only, until the command is interrupted."""
    from http.server import BaseHTTPRequestHandler, HTTPServer

    watched = Watched(path, overrides)
    watched.refresh()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # refuses foreign names of this machine, by which pages of other sites could reach the server
            if self.headers.get("Host") != f"127.0.0.1:{server.server_port}":
                self.send_error(403)
                return
            if self.path == "/":
                watched.refresh()
                self._answer(watched.text, "text/html; charset=utf-8")
            elif self.path == "/version":
                self._answer(watched.version.encode(), "text/plain")
            else:
                self.send_error(404)

        def _answer(self, content: bytes, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Log nothing, for the page sends two requests a second."""

    with os_errors(f"cannot serve on port {port or 'any'}"):
        server = HTTPServer(("127.0.0.1", port or 0), Handler)
    address = f"http://127.0.0.1:{server.server_port}/"
    _show(address, {"page": address, "source": str(path), "kind": "model"}, browser, json, quiet=False)
    flush()
    server.serve_forever()
