"""Every way in which fairq refuses: an error is a class with its message and its exit code."""
