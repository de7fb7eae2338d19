"""Units that train and evaluate, their records, and tables of them."""
