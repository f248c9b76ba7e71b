"""Jobs that really run: from the match to the process, and from its end back to the queue and the accounts."""
