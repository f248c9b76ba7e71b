"""All errors: each class has a message, an exit code, and a line for the table of exit codes."""
