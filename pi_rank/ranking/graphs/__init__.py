"""The graph over vectors, by which the nearest of many are found: built, kept in a file, searched."""
