"""Loads the HTTP library before the tests, so that it does not take part of their short timeouts."""

import httpx  # noqa: F401
