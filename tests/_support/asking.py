"""Requests to the page without a network: one ASGI exchange, and its answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from flexdp.web.server import application

PORT = 8731


@dataclass(frozen=True)
class Answer:
    status: int
    headers: list[tuple[str, str]]
    text: str


class NoError(Exception):
    """Nothing raises it."""


def ask(
    path: str = "/",
    query: str = "",
    *,
    hosts: tuple[str, ...] = (f"127.0.0.1:{PORT}",),
    method: str = "GET",
    failing: type[Exception] = NoError,
) -> Answer:
    """What the server answers. An error of the kind ``failing`` is answered first, and then raised for a log."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"host", host.encode()) for host in hosts],
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", PORT),
    }
    sent: list[dict[str, Any]] = []

    async def exchange() -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(dict(message))

        with suppress(failing):
            await application(PORT)(scope, receive, send)

    asyncio.run(exchange())
    start = next(message for message in sent if message["type"] == "http.response.start")
    body = b"".join(message.get("body", b"") for message in sent if message["type"] == "http.response.body")
    headers = [(name.decode(), value.decode()) for name, value in start["headers"]]
    return Answer(start["status"], headers, body.decode())
