"""What you see of an object or of work that goes on: tables and bars, in a terminal and in a notebook."""
