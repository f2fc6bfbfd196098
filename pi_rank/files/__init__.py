"""Files on the disk, each opened one careful way: others' (`foreign`), our own (`private`), and locks."""
