"""What runs jobs: launchers, one module each, behind the small interface of `fairq.launch.interface`.

A launcher knows runs and processes; it knows nothing of the state, the queue or the engine. It is found by the entry
point ``fairq.launchers``. Nothing is imported here: the supervisors of jobs start from this package.
"""
