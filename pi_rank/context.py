"""The turn: what is asked, where, and for whom."""

from __future__ import annotations

import msgspec


class SessionContext(msgspec.Struct, frozen=True, kw_only=True):
    """One turn, as PI describes it. Only `latest_user_message` is needed; the rest narrows what applies.

    `profile_id` None means that no profile is known: then only records without a profile are eligible.
    Paths are strings as the caller has them, of either operating system; nothing here touches the disk.
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
