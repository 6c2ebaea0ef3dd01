"""A small client of the Kubernetes API: JSON requests with a client certificate."""

from __future__ import annotations

import http.client
import json
import ssl
from pathlib import Path
from typing import Any

from .layout import API_PORT


class ApiError(Exception):
    """The API server answered with an error.

    Attributes:
        status: HTTP status code.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"HTTP {status}: {message}")
        self.status = status


class Api:
    """Requests to the own cluster's API server as its administrator."""

    def __init__(self, pki: Path) -> None:
        self._context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._context.load_cert_chain(str(pki / "admin.crt"), str(pki / "admin.key"))

    def request(
        self, method: str, path: str, body: dict[str, Any] | None = None, timeout: float = 10
    ) -> Any:
        """Send one request.

        Args:
            method: HTTP method.
            path: Path with query, e.g. ``/api/v1/nodes``.
            body: JSON object to send.
            timeout: Seconds for connecting and for each read.

        Returns:
            The decoded JSON, or the text when the answer is not JSON (``/readyz``).

        Raises:
            ApiError: The answer's status is 400 or more.
            OSError: The server cannot be reached.
        """
        # Loopback, not the node's address: see `pki.SERVER`.
        connection = http.client.HTTPSConnection(
            "127.0.0.1", API_PORT, timeout=timeout, context=self._context
        )
        try:
            payload = None if body is None else json.dumps(body)
            connection.request(method, path, payload, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
        except http.client.HTTPException as error:
            raise OSError(f"broken answer: {error!r}") from error
        finally:
            connection.close()
        if answer.status >= 400:
            raise ApiError(answer.status, text[:500])
        try:
            return json.loads(text)
        except ValueError:
            return text
