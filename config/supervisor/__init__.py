"""Starts and watches the processes of Heddle on one machine: script/server.

Standard library only, and nothing of Django: what it starts may crash, it must not.
"""
