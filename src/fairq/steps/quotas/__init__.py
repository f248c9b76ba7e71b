"""The tree of accounting groups: its current state, previews, and problems."""
