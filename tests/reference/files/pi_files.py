"""What PI asks of the lines of its files, rule by rule: `None` where it takes a line, else what is wrong.

PI drops a record that breaks one of these rules, and fails whole on a line that is no JSON.
"""

from __future__ import annotations

LAYERS = ("L1", "L2", "L3")
STABILITIES = ("low", "semi-stable", "stable")
DELETION_MODES = ("audit_preserving", "privacy_purge")
DELETION_REASONS = ("user_requested", "privacy_sensitive", "poisoned", "invalid", "other")
PROFILE_TYPES = ("user", "repo", "project", "workspace", "team")
IDENTITY_SOURCES = ("explicit_config", "git_remote", "git_root", "package_name", "cwd_fallback")

SESSION_TYPES = {
    "id": str,
    "file": str,
    "mtime": (int, float),
    "sizeBytes": int,
    "date": str,
    "startedAt": str,
    "endedAt": str,
    "cwd": str,
    "project": str,
    "projectSlug": str,
    "archived": bool,
    "models": list,
    "userMessageCount": int,
    "toolsUsed": list,
    "filesModified": list,
    "firstMessage": str,
    "decisions": list,
    "compactionSummaries": list,
    "totalCost": (int, float),
    "totalTokens": int,
    "_indexText": str,
}


def record_fault(value):
    """Of a memory record."""
    rules = {
        "id": _text(value, "id"),
        "layer": value.get("layer") in LAYERS,
        "scope": isinstance(value.get("scope"), dict) and isinstance(value["scope"].get("type"), str),
        "tags": _list_of(value.get("tags"), str),
        "statement": _text(value, "statement", blank=False),
        "evidence": bool(value.get("evidence")) and _list_of(value["evidence"], dict),
        "confidence": _number(value.get("confidence")) and 0 <= value["confidence"] <= 1,
        "stability": value.get("stability") in STABILITIES,
        "created_at": isinstance(value.get("created_at"), str),
        "updated_at": isinstance(value.get("updated_at"), str),
        "review": isinstance(value.get("review"), dict),
        "supersedes": isinstance(value.get("supersedes"), list),
        "superseded_by": isinstance(value.get("superseded_by"), list),
        "status": isinstance(value.get("status"), str),
        "vault_ref": "vault_ref" in value and isinstance(value["vault_ref"], str | None),
    }
    for name, holds in rules.items():
        if not holds:
            return name
    for evidence in value["evidence"]:
        if not all(isinstance(evidence.get(name), str) for name in ("ref", "note")):
            return "evidence"
    return _review_fault(value["review"])


def _review_fault(review):
    if not _number(review.get("cadence_days")):
        return "review.cadence_days"
    if not isinstance(review.get("next_review"), str):
        return "review.next_review"
    return None if _text(review, "change_condition", blank=False) else "review.change_condition"


def tombstone_fault(value):
    """Of a deletion marker."""
    rules = {
        "id": _text(value, "id"),
        "deleted_record_id": _text(value, "deleted_record_id"),
        "deleted_at": _text(value, "deleted_at"),
        "deletion_mode": value.get("deletion_mode") in DELETION_MODES,
        "deletion_reason": value.get("deletion_reason") in DELETION_REASONS,
        "content_removed": value.get("content_removed") is True,
    }
    return next((name for name, holds in rules.items() if not holds), None)


def profile_fault(value):
    """Of a profile."""
    identity = value.get("project_identity", {})
    rules = {
        "profile_type": value.get("profile_type") in PROFILE_TYPES,
        "resource_id": _text(value, "resource_id"),
        "storage_root": _text(value, "storage_root"),
        "created_at": _text(value, "created_at"),
        "updated_at": _text(value, "updated_at"),
        "project_identity.source": identity.get("source") in IDENTITY_SOURCES,
        "profile_id": value.get("profile_id") == f"project:{identity.get('project_id')}",
    }
    return next((name for name, holds in rules.items() if not holds), None)


def session_fault(value):
    """Of a line of the session index."""
    for name, kind in SESSION_TYPES.items():
        if not isinstance(value.get(name), kind):
            return name
    return None if value["date"] == value["startedAt"][:10] else "date"


def _number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value, name, *, blank=True):
    text = value.get(name)
    return isinstance(text, str) and bool(text if blank else text.strip())


def _list_of(value, kind):
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)
