"""The live door: events down to open sockets (docs/model.md §14.3.11). Only presence comes up.

The log is the memory and the channel layer a doorbell: a group is joined first, the log
is read from the cursor second, and what comes twice is dropped by its seq.
"""
