"""PanDA's brokerage on the state: import and list data, run, explain, apply timeouts."""
