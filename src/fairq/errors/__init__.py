"""Every way in which fairq refuses: an error is a class with its message, its meaning in one line and its exit code."""
