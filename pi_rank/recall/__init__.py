"""Memory recall over HTTP: a server, a client, and participants whose turns are given what is remembered."""
