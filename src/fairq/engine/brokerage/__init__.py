"""PanDA's scheme: which queues a task's jobs go to, and why not to the others."""
