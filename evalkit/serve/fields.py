"""Fields of a request's body, each taken as what it must be or refused in the API's words.

Invariant: a refusal names the place of the field in the body.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalkit.core.errors import EvalkitError
from evalkit.core.message import JSON


class BadRequest(EvalkitError):
    """A request that the API would refuse; `status` is the HTTP status of the refusal."""

    def __init__(self, text: str, status: int = 400) -> None:
        """Keep the status beside the text."""
        super().__init__(text)
        self.status = status


def an_object(given: JSON, where: str) -> dict[str, Any]:
    """Take a JSON object, or refuse."""
    if isinstance(given, dict):
        return given
    raise BadRequest(f"{where}: {'Field required' if given is None else 'Input should be a valid dictionary'}")


def an_optional_object(given: JSON, where: str) -> dict[str, Any]:
    """Take a JSON object that may be left out."""
    return {} if given is None else an_object(given, where)


def a_list(given: JSON, where: str) -> Sequence[JSON]:
    """Take a JSON array, or refuse."""
    if isinstance(given, list):
        return given
    raise BadRequest(f"{where}: {'Field required' if given is None else 'Input should be a valid list'}")


def a_string(given: JSON, where: str) -> str:
    """Take a string, or refuse."""
    if isinstance(given, str):
        return given
    raise BadRequest(f"{where}: {'Field required' if given is None else 'Input should be a valid string'}")
