"""Running jobs: from the match to the process, and from its end to the queue and the accounting."""
