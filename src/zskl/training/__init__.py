"""How W is learned: the objective, the solver, and their fast paths on a CPU and a GPU."""
