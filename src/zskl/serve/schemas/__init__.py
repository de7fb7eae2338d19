"""What goes in and out over HTTP, as types, one file per resource. The OpenAPI description is made from these.

Bodies are pydantic models, which check what a client sends. Answers are `TypedDict`s: plain dictionaries whose fields
mypy checks. They cost nothing at run time, and may have a field called "class".
"""
