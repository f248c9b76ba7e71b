"""Take back what somebody changed: what is kept of a change, and how each kind is undone."""
