"""The words of the brokerage: what its reasons and findings mean, and what would have to change."""
