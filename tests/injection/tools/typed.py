"""Whether a JSON value is of one of the SDKs' own types: every key known, every required one there."""

from __future__ import annotations

import collections.abc
import types
import typing

from typing_extensions import NotRequired, ReadOnly, Required, TypeAliasType

WRAPPERS = (Required, NotRequired, ReadOnly, typing.Annotated)
LISTS = (list, tuple, collections.abc.Iterable, collections.abc.Sequence)


def conforms(value, kind):
    """Whether the value is of the type."""
    if isinstance(kind, TypeAliasType):
        return conforms(value, kind.__value__)
    if kind in (object, typing.Any):
        return True
    if kind is None or kind is type(None):
        return value is None
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in WRAPPERS:
        return conforms(value, inner[0])
    if origin is typing.Literal:
        return any(value == each and type(value) is type(each) for each in inner)
    if origin in (typing.Union, types.UnionType):
        return any(conforms(value, each) for each in inner)
    if hasattr(kind, "__total__"):
        return _is_typed_dict(value, kind)
    if origin in (dict, collections.abc.Mapping):
        return isinstance(value, dict) and all(conforms(each, inner[1]) for each in value.values())
    if origin in LISTS or (origin is not None and hasattr(origin, "__iter__")):
        return isinstance(value, list) and all(conforms(each, inner[0]) for each in value)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and not (kind is int and isinstance(value, bool))


def _is_typed_dict(value, kind):
    hints = typing.get_type_hints(kind, include_extras=True)
    required = {key for key, hint in hints.items() if typing.get_origin(hint) is Required}
    return (
        isinstance(value, dict)
        and value.keys() <= hints.keys()
        and required <= value.keys()
        and all(conforms(each, hints[key]) for key, each in value.items())
    )


def assert_of_type(kind, values):
    """Each of the values is of the type."""
    for value in values:
        assert conforms(value, kind), value
