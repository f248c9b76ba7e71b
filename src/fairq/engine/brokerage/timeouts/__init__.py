"""Jobs past their time limit: timeouts, fast rebrokerage, rebrokerage of users' jobs."""
