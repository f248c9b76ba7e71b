"""The kinds of record that the brokerage imports and stores, each described once for all layers."""
