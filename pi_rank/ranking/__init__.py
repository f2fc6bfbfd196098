"""Rankings of rows by one signal each, and their fusion."""
