"""The compiled core: one Cython module per kernel, arrays (`history`: dicts) in and out; sources in ext/."""
