"""A grid that is made up, in the forms in which CRIC, Rucio, the network and PanDA's tables publish one."""
