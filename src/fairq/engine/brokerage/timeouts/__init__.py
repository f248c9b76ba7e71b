"""Jobs that took too long: timeouts, fast rebrokerage, rebrokerage of users' jobs."""
