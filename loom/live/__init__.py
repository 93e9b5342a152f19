"""Live updates: sends events to open WebSockets (docs/model.md §14.3.11), whose clients only send
presence.

The log stores the events; the channel layer only notifies. A feed joins its group first, then
reads the log from its cursor, and skips by seq what it has already read.
"""
