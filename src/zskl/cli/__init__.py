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
        if _version_told():
            return
        from zskl.cli import startup

        startup.begin()
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    try:
        from zskl.cli.commands import start

        start()
    finally:
        startup.over()


def _version_told() -> bool:
    """Answer `zskl --version`, which needs nothing else. Where nothing can be written, the usual way says why."""
    import sys

    if sys.argv[1:] != ["--version"] or sys.stdout is None:
        return False
    from zskl.version import __version__

    try:
        sys.stdout.write(f"zskl {__version__}\n")
        sys.stdout.flush()
    except OSError:
        return False
    return True


if not TYPE_CHECKING:

    def __getattr__(name):
        """`app`, with all its commands, is imported when it is first used."""
        if name != "app":
            raise AttributeError(f"module 'zskl.cli' has no attribute {name!r}")
        from zskl.cli.commands import app

        return app
