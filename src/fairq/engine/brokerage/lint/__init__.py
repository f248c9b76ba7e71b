"""What of a pool's description does not mean what it seems, and queues that nothing can match."""
