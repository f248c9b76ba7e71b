"""Software and hardware that tasks need and queues publish."""
