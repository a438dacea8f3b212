"""Tables of trials, one row a trial, whose columns a person names: what csv and jsonl share.

Invariant: which column was taken for what is told, and so is each that was not read. A cell that cannot be understood is refused with its
place; an empty one is unknown.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from evalkit.core.errors import ConfigurationError
from evalkit.parts.importers._rows import (
    Imported,
    Item,
    Note,
    count_of,
    digest_of,
    named,
    number_of,
    numbered,
    part,
    plainly,
    refuse,
    reward_of,
    shown,
    text_of,
)
from evalkit.parts.importers._stops import stop_of

YES = frozenset(("true", "1", "1.0", "yes", "y", "pass", "passed", "success", "succeeded", "resolved", "correct"))
NO = frozenset(("false", "0", "0.0", "no", "n", "fail", "failed", "failure", "unresolved", "incorrect"))
EMPTY = frozenset(("", "none", "null", "nan", "na", "n/a", "-"))

MOST_COLUMNS = 10_000

MOST_SHOWN = 12
"""Columns that are listed in a message."""

Row = tuple[str, Mapping[str, Any]]
"""A row's place and its cells by column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The columns by what they hold; one that is not named is read where a column of the field's own name is there.

    `task_id` is needed, and one of `passed` and `reward` (where both are there, `passed`). `error` holds a text where the harness
    broke, `tokens` all tokens, `input` what the agent was given. In jsonl a name may be a path, `info.reward`.
    """

    task_id: str | None = None
    trial: str | None = None
    passed: str | None = None
    reward: str | None = None
    variant: str | None = None
    suite: str | None = None
    stop: str | None = None
    error: str | None = None
    turns: str | None = None
    tokens: str | None = None
    usd: str | None = None
    seconds: str | None = None
    answer: str | None = None
    input: str | None = None

    def rows(self, path: Path, rows: Iterable[Row]) -> Iterator[Item]:
        """Tell each row, then which columns were read."""
        used = self._columns(path)
        seen: dict[str, None] = {}
        for where, row in rows:
            seen.update(dict.fromkeys(row))
            if len(seen) > MOST_COLUMNS:
                raise refuse(path, where, f"more than {MOST_COLUMNS:,} columns are named", "is each row a trial?")
            yield _trial(path, where, row, used)
        found = {field: column for field, column in used.items() if _there(column, seen)}
        for field, column in used.items():
            if field not in found and getattr(self, field) is not None:
                raise _missing(path, "", column, list(seen), _flag(field))
        if "passed" in found and "reward" in found:
            spare = plainly(found.pop("reward"))
            yield Note(
                text=f"{plainly(found['passed'])} decides, so {spare} is not read (--reward {spare} says otherwise)"
            )
        told = [column if column == field else f"{column} ({field})" for field, column in found.items()]
        yield Note(text=f"columns read: {listed([plainly(one) for one in told])}")
        left = [plainly(one) for one in seen if one not in found.values()]
        if left:
            yield Note(text=f"columns not read: {listed(left)}")

    def _columns(self, path: Path) -> dict[str, str]:
        """The column of each field, as told or by the field's own name."""
        if self.passed is not None and self.reward is not None:
            raise refuse(path, "", "has a column of verdicts and one of rewards", "give --passed or --reward, not both")
        used = {one.name: getattr(self, one.name) or one.name for one in fields(self)}
        if self.reward is not None:
            del used["passed"]
        elif self.passed is not None:
            del used["reward"]
        return used


def listed(names: Sequence[str]) -> str:
    """Names for people, the first few of many."""
    more = f" and {len(names) - MOST_SHOWN} more" if len(names) > MOST_SHOWN else ""
    return ", ".join(names[:MOST_SHOWN]) + more


def _flag(field: str) -> str:
    """The flag that names a field's column."""
    return f"--{field.replace('_', '-')}"


def _there(column: str, row: Mapping[str, Any]) -> bool:
    """Tell whether a column, or the first name of a path, is there."""
    first = column.split(".", maxsplit=1)[0]
    return column in row or (first != column and first in row and isinstance(row[first], (dict, type(None))))


def _cell(row: Mapping[str, Any], column: str | None) -> Any:
    """A row's value, None where there is none."""
    if column is None:
        return None
    return row[column] if column in row else part(row, *column.split(".")) if "." in column else None


def _missing(path: Path, where: str, column: str, there: Sequence[str], flag: str) -> ConfigurationError:
    """The error of a column that is not there, with what was probably meant."""
    near = get_close_matches(column, there, 1, 0.5)
    names = listed([plainly(one) for one in there]) or "none"
    mend = f"did you mean {flag} {plainly(near[0])}?" if near else f"name it with {flag}; there are: {names}"
    return refuse(path, where, f"there is no column {shown(column)}", mend)


def _trial(path: Path, where: str, row: Mapping[str, Any], used: Mapping[str, str]) -> Imported:
    """One row."""
    cells = {field: _cell(row, column) for field, column in used.items()}
    if not _there(used["task_id"], row):
        raise _missing(path, where, used["task_id"], list(row), "--task-id")
    passed, reward = _judged(path, where, row, used, cells)
    broke, stop = _broke(cells.get("error")), _word(cells.get("stop"))
    given = text_of(_word(cells.get("input")))
    reason = stop_of(stop)
    if reason.startswith("error:") and not broke:
        broke = stop
    return Imported(
        where=where,
        task=named(path, where, "the task's id", cells["task_id"]),
        suite=_name(path, where, "the suite", cells.get("suite")),
        variant=_name(path, where, "the variant", cells.get("variant")),
        trial=numbered(cells.get("trial")),
        passed=None if broke else passed,
        reward=reward,
        error=broke,
        stop=reason if not broke or reason.startswith("error:") else "error:harness",
        stop_detail=text_of(stop, 80),
        turns=_whole(path, where, "turns", cells),
        input_tokens=_whole(path, where, "tokens", cells),
        usd=_number(path, where, "usd", cells),
        seconds=_number(path, where, "seconds", cells),
        answer=text_of(_word(cells.get("answer"))),
        input=given,
        input_digest=digest_of(path, where, cells.get("input")) if given else "",
    )


def _judged(
    path: Path, where: str, row: Mapping[str, Any], used: Mapping[str, str], cells: Mapping[str, Any]
) -> tuple[bool | None, float | None]:
    """What a row says of its outcome: a verdict, or a reward, or neither where the cell is empty."""
    if "passed" in used and (_there(used["passed"], row) or not ("reward" in used and _there(used["reward"], row))):
        if not _there(used["passed"], row):
            raise _missing(path, where, used["passed"], list(row), "--passed or --reward")
        return _verdict(path, where, cells["passed"]), None
    if not _there(used["reward"], row):
        raise _missing(path, where, used["reward"], list(row), "--reward")
    return None, _reward(path, where, cells["reward"])


def _verdict(path: Path, where: str, value: object) -> bool | None:
    """A verdict; raises `ConfigurationError` for what is none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, (bool, int, float, str)):
        word = str(value)[:40].strip().lower()
        if word in EMPTY:
            return None
        if word in YES or word in NO:
            return word in YES
    raise refuse(path, where, f"the verdict is {shown(value)}", "true or false are wanted; numbers go to --reward")


def _reward(path: Path, where: str, value: object) -> float | None:
    """A reward; raises `ConfigurationError` for what is no number."""
    if value is None or (isinstance(value, str) and value.strip().lower() in EMPTY):
        return None
    found = reward_of(_read(value))
    if found is None:
        raise refuse(path, where, f"the reward is {shown(value)}", "a number is wanted; words go to --passed")
    return found


def _read(value: object) -> object:
    """A number that is written as text, else the value itself."""
    if isinstance(value, str) and len(value) <= 40:
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _number(path: Path, where: str, field: str, cells: Mapping[str, Any]) -> float | None:
    """A quantity, None where the cell is empty; raises `ConfigurationError` for what is none."""
    value = cells.get(field)
    if value is None or (isinstance(value, str) and value.strip().lower() in EMPTY) or value != value:  # noqa: PLR0124  # NaN is the one value that is not itself
        return None
    found = number_of(_read(value))
    if found is None:
        raise refuse(path, where, f"{field} is {shown(value)}", "a number of at least 0 is wanted, or nothing")
    return found


def _whole(path: Path, where: str, field: str, cells: Mapping[str, Any]) -> int | None:
    """A count, None where the cell is empty; raises `ConfigurationError` for what is none."""
    found = _number(path, where, field, cells)
    whole = None if found is None else count_of(found)
    if found is not None and whole is None:
        raise refuse(path, where, f"{field} is {shown(found)}", "a whole number is wanted")
    return whole


def _name(path: Path, where: str, what: str, value: object) -> str | None:
    """A name, None where the cell is empty."""
    return None if value is None or value == "" else named(path, where, what, value)


def _broke(value: object) -> str:
    """What a cell of errors says: nothing where it is empty, false or 0."""
    if value is None or value is False or value == 0 or value != value:  # noqa: PLR0124  # NaN is the one value that is not itself
        return ""
    if isinstance(value, str):
        return "" if value.strip().lower() in EMPTY or value.strip().lower() in NO else text_of(value)
    return f"the file says so: {shown(value)}"


def _word(value: object) -> str:
    """A cell as text."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    try:
        return json.dumps(value, sort_keys=True)
    except (RecursionError, ValueError):
        return shown(value)
