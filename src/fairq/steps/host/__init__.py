"""The pool of a host: what ``fairq pool create`` makes, ``fairq pool remove`` takes back, and ``pool check`` looks at."""
