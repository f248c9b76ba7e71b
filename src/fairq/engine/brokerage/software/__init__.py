"""Software and hardware: what a task asks for, and what a queue publishes."""
