"""The turn: what is asked, where, and for whom."""

from __future__ import annotations

import re

import msgspec

from pi_rank.errors import ContextError
from pi_rank.memory.project import slug

PROJECT_PROFILE = "project:"
_SEPARATORS = re.compile(r"[/\\]+")
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9]")
MOST_NAME = 200  # characters of Claude Code's name for a folder; behind them is a number that only it knows
_DRIVE = re.compile(r"[A-Za-z]:[/\\]|\\\\")


class SessionContext(msgspec.Struct, frozen=True, kw_only=True):
    """One turn, as PI describes it. Only `latest_user_message` is needed; the rest narrows what applies.

    An engine fills in `profile_id`, `project_root` and `repository_id` from `working_directory` where they
    are None (`pi_rank.places`). Without either no profile is known: only records without one are eligible.
    A profile `project:NAME` is that project's. `pi_project_id` is PI's own id of that project, where it has
    another one: records that carry it apply too, and the traces name them.

    `reader` is the agent that the block is for, as `claude-code`: records that it reads by itself, because
    its own instruction files hold them, are left out.

    Paths are strings as the caller has them, of either operating system; nothing here touches the disk. Lone
    surrogates in any text become U+FFFD, so that everything here can be encoded.

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
    pi_project_id: str | None = None
    reader: str | None = None

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


def project_keys(context: SessionContext) -> frozenset[str]:
    """The slugs by which the turn's project may be called in a record's scope.

    They are those of the repository id, of the last segments of the project root and the working directory,
    with either path separator, and of the project that the profile is of. A name without a slug is left out:
    it equals no project.
    """
    profile = context.profile_id or ""
    names = (
        context.repository_id or "",
        last_segment(context.project_root or ""),
        last_segment(context.working_directory or ""),
        profile.removeprefix(PROJECT_PROFILE) if profile.startswith(PROJECT_PROFILE) else "",
    )
    return frozenset(filter(None, map(slug, names)))


def project_key(project: str) -> str:
    """By what a record's project is compared: a folder's path as `folder_key`, any other name as its slug."""
    key = folder_key(project) or slug(project)
    return key[: MOST_NAME + 1] if key.startswith("/-") and "/" not in key[1:] else key


def folder_key(path: str) -> str:
    """An absolute path of either operating system as a key that begins with `/`; "" for anything else."""
    drive = _DRIVE.match(path)
    if not drive and not path.startswith("/"):
        return ""
    segments: list[str] = []
    for segment in _SEPARATORS.split(path.casefold()) if drive else path.split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(segment)
    return "/" + "/".join(segments)


def folder_keys(context: SessionContext) -> frozenset[str]:
    """The folders that a turn is in, and all above them: of its working directory, project and files touched.

    A relative path is below the working directory, or the project's top. These two are also there as one
    name, with `-` for all but letters and digits, as Claude Code calls a project's folder of its own.
    """
    places = [folder_key(context.working_directory or ""), folder_key(context.project_root or "")]
    tops = [place for place in places if place]
    for path in context.recent_files_touched:
        places += [folder_key(path)] if folder_key(path) else [folder_key(f"{top}/{path}") for top in tops]
    keys = {"/"} if tops else set()
    for place in places:
        while place and place not in keys:
            keys.add(place)
            place = place.rpartition("/")[0]
    keys.update(_as_one_name(top) for top in tops)
    keys.add(folder_key(context.repository_id or ""))  # a repository may be known by its path
    return frozenset(keys - {""})


def _as_one_name(folder: str) -> str:
    """A folder's key as Claude Code names it: by UTF-16 units, and a long one by how it begins."""
    name = _NOT_IN_A_NAME.sub(lambda found: "--" if found[0] > "\uffff" else "-", folder)
    return f"/{name[:MOST_NAME]}"


def last_segment(path: str) -> str:
    """The name of the folder that a path ends in, whatever its separators; empty where it names none."""
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
