"""Jobs on the state: submit, select, view, change, finish."""
