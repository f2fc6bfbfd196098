"""Ranking: who is most likely to matter for a prompt, and who is chosen."""
