"""A worker of a service in this process, beside others that share its file of classes."""

import os
from functools import cached_property

import served
from zskl.serve.limits import Limits
from zskl.serve.newest import Newest
from zskl.serve.service import Service
from zskl.serve.shared_class_file import SharedClassFile


class Worker:
    """A service of the shared file, and a client of it."""

    def __init__(self, model, kept):
        file = SharedClassFile(kept.path, kept.marks, os.dup(kept._log.handle))  # a process of its own has a copy
        self.service = Service(model, "m", Limits(), file)

    @cached_property
    def client(self):
        found = served.client(self.service)
        found.app._app = Newest(found.app._app, self.service.classes)  # within the guard, as in a service
        return found

    def put(self, name, size=1.0):
        """The version that a change makes."""
        return self.service.classes.put(name, {"size": size}, True)[0].version

    def known(self):
        """What a request would see: name → size and version."""
        if self.service.classes.stale:
            self.service.classes.catch_up()
        book = self.service.book
        return book.version, {name: (one.attributes["size"], one.version) for name, one in book.added.items()}
