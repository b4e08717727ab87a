"""The server of the page: on the loopback address only, and only for browsers that address this host.

Another web page may make a browser send requests to this server under another name (DNS rebinding); such a request
carries that name and is refused. Nothing is stored, set or logged, and the policy lets the page load from here only.
"""

from __future__ import annotations

import socket
from importlib.resources import files

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flexdp.errors import InputError
from flexdp.report.charts.svg import PALETTE, STYLE
from flexdp.web.entries import Entries
from flexdp.web.example import flights
from flexdp.web.page import page

__all__ = ["HEADERS", "application", "listen", "serve"]

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#2f86c1" '
    'd="M1 9h4v6H1zM6 4h4v11H6zM11 12h4v3h-4z"/><path fill="#e69f00" d="M1 7h4v1H1zM6 2h4v1H6zM11 10h4v1h-4z"/></svg>'
)


def application(port: int) -> ASGIApp:
    """Return the page and its parts as an application for requests that name the loopback host and this port."""
    static = files("flexdp") / "web" / "static"
    style = PALETTE + STYLE + (static / "page.css").read_text(encoding="utf-8")
    script = (static / "page.js").read_text(encoding="utf-8")

    def planned(request: Request) -> Response:
        return Response(page(Entries.read(request.query_params)), media_type="text/html")

    def fixed(content: str, kind: str) -> Response:
        return Response(content, media_type=kind)

    def failed(_request: Request, failure: Exception) -> Response:
        return PlainTextResponse(f"An unexpected {type(failure).__name__} stopped this page.", status_code=500)

    routes = [
        Route("/", planned),
        Route("/page.css", lambda _request: fixed(style, "text/css")),
        Route("/page.js", lambda _request: fixed(script, "text/javascript")),
        Route("/icon.svg", lambda _request: fixed(_ICON, "image/svg+xml")),
    ]
    inner = Starlette(routes=routes, exception_handlers={Exception: failed})
    names = {f"{host}:{port}" for host in ("127.0.0.1", "localhost")}
    return _Guard(inner, names | ({"127.0.0.1", "localhost"} if port == 80 else set()))


class _Guard:
    """Refuse requests that address another host, and set the security headers of every answer."""

    def __init__(self, inner: ASGIApp, hosts: set[str]) -> None:
        self._inner, self._hosts = inner, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *ours]}
            await send(message)

        named = [value.decode("latin-1").lower() for name, value in scope.get("headers", ()) if name == b"host"]
        if len(named) == 1 and named[0] in self._hosts:
            await self._inner(scope, receive, dressed)
            return
        refusal = PlainTextResponse("This page answers to 127.0.0.1 and localhost only.", status_code=403)
        await refusal(scope, receive, dressed)


def listen(port: int) -> socket.socket:
    """Open a socket on the loopback address; port 0 takes any free one."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError:
        listener.close()
        raise InputError(
            "port", f"{port} is in use or not allowed", remedy="Choose another, or 0 for any free one."
        ) from None
    return listener


def serve(listener: socket.socket) -> None:
    """Serve until interrupted; everything slow is done once before, so that no request waits for it."""
    flights()
    page(Entries.read({}))
    config = uvicorn.Config(
        application(listener.getsockname()[1]),
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run(sockets=[listener])
