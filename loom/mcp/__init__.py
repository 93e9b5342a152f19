"""The MCP server: trees, documents and one's workspace for programs that speak the Model Context
Protocol. Removing this folder and its line in config/asgi.py removes it.

It has no powers of its own: each call of a tool is a request to the API with the caller's key.
"""
