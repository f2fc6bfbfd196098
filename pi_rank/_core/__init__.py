"""The compiled core: one Cython module per kernel, arrays in and arrays out; sources in ext/."""
