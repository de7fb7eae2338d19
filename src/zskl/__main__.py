"""`python -m zskl` is the command line."""

from zskl.cli import main

main()
