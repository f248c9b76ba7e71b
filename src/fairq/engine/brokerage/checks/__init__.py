"""What production and analysis check alike of a queue; each flow says where in it, and for which tasks."""
