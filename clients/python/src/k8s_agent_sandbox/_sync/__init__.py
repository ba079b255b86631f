# Generated from _async/__init__.py by tools/make_sync.py: do not edit.
