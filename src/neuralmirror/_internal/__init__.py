"""Helpers without a promise to callers: they may change with any version."""
