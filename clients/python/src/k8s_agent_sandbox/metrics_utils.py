"""The metrics of this process as text."""


def get_metrics() -> str:
    """Returns the metrics of the default registry of prometheus_client in its text format."""
    from prometheus_client import REGISTRY, generate_latest

    from . import metrics  # noqa: F401  # registers the metrics of the client

    return str(generate_latest(REGISTRY), "utf-8")


def print_metrics() -> None:
    """Prints `get_metrics()`."""
    print(get_metrics())
