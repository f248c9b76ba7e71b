"""The texts of the brokerage: the meaning of its reasons and findings, and the necessary changes."""
