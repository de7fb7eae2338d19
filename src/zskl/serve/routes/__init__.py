"""Paths → calls of the service, one file per resource."""
