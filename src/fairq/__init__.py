"""Fair share for shared computers: each command runs one negotiation or accounting step."""

__version__ = "0.2.0"
