"""The command line: arguments → one call. No logic.

Nothing is imported here, so that Ctrl-C is handled from the first moment.
"""

TYPE_CHECKING = False

if TYPE_CHECKING:
    from zskl.cli.commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    try:
        from zskl.cli import startup

        startup.begin()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    try:
        from zskl.cli.commands import start

        start()
    finally:
        startup.over()


if not TYPE_CHECKING:

    def __getattr__(name):
        """`app`, with all its commands, is imported when it is first used."""
        if name != "app":
            raise AttributeError(f"module 'zskl.cli' has no attribute {name!r}")
        from zskl.cli.commands import app

        return app
