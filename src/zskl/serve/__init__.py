"""The HTTP service and its page: a client of the public API. Needs the extra `serve`."""
