"""PanDA's brokerage on the state: import and list its data, run, explain, time out."""
