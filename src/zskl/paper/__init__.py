"""The paper's tables and figures from records, beside what it printed; and the units behind them."""
