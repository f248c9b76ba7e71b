"""Fair share for shared computers, one negotiation or accounting step per command."""

__version__ = "0.1.0"
