"""Live updates: events to open WebSockets (docs/model.md §14.3.11); they send presence only.

The log holds the events; the channel layer only rings. A feed joins its group first, then
reads the log from its cursor, and drops what it has already read by seq.
"""
