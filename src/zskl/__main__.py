"""`python -m zskl` is the command line."""

from zskl.cli import main

if __name__ == "__main__":
    main()
