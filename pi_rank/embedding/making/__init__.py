"""Writing the files of embedding models, of weights that somebody else published."""
