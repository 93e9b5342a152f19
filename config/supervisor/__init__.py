"""Starts and watches the processes of Heddle on one machine: script/server.

Standard library only, and nothing from Django: what it starts may crash, but it must not.
"""
