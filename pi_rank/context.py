"""The turn: what is asked, where, and for whom."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from pi_rank.errors import ContextError
from pi_rank.memory.project import resolve_project, slug

__all__ = ["SessionContext", "context_from_json", "project_keys", "resolve_context", "slug"]

_SEPARATORS = re.compile(r"[/\\]+")


class SessionContext(msgspec.Struct, frozen=True, kw_only=True):
    """One turn, as PI describes it. Only `latest_user_message` is needed; the rest narrows what applies.

    `profile_id` None means that no profile is known: then only records without a profile are eligible.
    Paths are strings as the caller has them, of either operating system; nothing here touches the disk.
    Lone surrogates in any text become U+FFFD, so that everything here can be encoded.

    :raises ContextError: a field has the wrong type.
    """

    latest_user_message: str
    resource_id: str | None = None
    profile_id: str | None = None
    thread_id: str | None = None
    project_root: str | None = None
    repository_id: str | None = None
    working_directory: str | None = None
    first_user_message: str | None = None
    recent_files_touched: tuple[str, ...] = ()
    detected_domain_tags: tuple[str, ...] = ()
    task_intent: str | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            checked = _checked(name, value)
            if checked is not value:
                msgspec.structs.force_setattr(self, name, checked)


def context_from_json(value: object) -> SessionContext:
    """A turn from a decoded JSON object; unknown keys are ignored, as PI's own may grow.

    :raises ContextError: naming the field, where it has the wrong type or the message is missing.
    """
    try:
        return msgspec.convert(value, SessionContext)
    except msgspec.ValidationError as error:
        raise ContextError(f"the turn is not usable: {error}") from None


def resolve_context(
    prompt: str,
    working_directory: str | Path | None = None,
    **fields: Any,  # noqa: ANN401
) -> SessionContext:
    """The turn of a prompt asked in a working directory, with its profile, project root and repository id.

    `fields` are further fields of `SessionContext`; one that is given (not None) is never overridden.
    Without a working directory nothing is resolved. The profile is `project:` and the project's id (see
    `resolve_project`).

    :raises ContextError: a field is unknown or has the wrong type.
    :raises ConfigError: the project's `.pi/settings.json` is not JSON.
    """
    known = {key: value for key, value in fields.items() if value is not None}
    if working_directory is not None:
        project = resolve_project(working_directory)
        known.setdefault("profile_id", f"project:{project.id}")
        known.setdefault("project_root", str(project.root))
        known.setdefault("repository_id", project.name)
        known["working_directory"] = str(working_directory)
    try:
        return SessionContext(latest_user_message=prompt, **known)
    except TypeError as error:
        raise ContextError(f"the turn is not usable: {error}") from None


def project_keys(context: SessionContext) -> frozenset[str]:
    """The slugs by which the turn's project may be called in a record's scope.

    They are those of the repository id and of the last segments of the project root and the working
    directory, with either path separator. A name without a slug is left out: it equals no project.
    """
    names = (
        context.repository_id or "",
        _last_segment(context.project_root or ""),
        _last_segment(context.working_directory or ""),
    )
    return frozenset(filter(None, map(slug, names)))


def _last_segment(path: str) -> str:
    segments = [segment for segment in _SEPARATORS.split(path) if segment not in ("", ".", "..")]
    return segments[-1] if segments else ""


def _checked(name: str, value: object) -> object:
    """The field's value, encodable; lists become tuples."""
    if name in ("recent_files_touched", "detected_domain_tags"):
        if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
            checked = tuple(map(_encodable, value))
            return value if checked == value else checked
        raise ContextError(f"{name}: expected a sequence of strings, got {value!r:.80}")
    if isinstance(value, str):
        return _encodable(value)
    if value is None and name != "latest_user_message":
        return value
    raise ContextError(f"{name}: expected a string, got {value!r:.80}")


def _encodable(text: str) -> str:
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
