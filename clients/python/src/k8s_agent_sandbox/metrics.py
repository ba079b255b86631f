"""Histograms of the client, in the default registry of prometheus_client."""

from prometheus_client import Histogram

_BUCKETS_MS = (100, 250, 500, 750, 1000, 1250, 1500, 2000, 2500, 5000, 10000, 30000, 60000, 120000, 240000)

sandbox_client_discovery_latency_ms = Histogram(
    "sandbox_client_discovery_latency_ms",
    "Milliseconds until the connection to the router or the sandbox was found",
    ["mode", "status"],
    buckets=_BUCKETS_MS,
)

sandbox_client_suspend_latency_ms = Histogram(
    "sandbox_client_suspend_latency_ms", "Milliseconds until a sandbox was suspended", ["status"], buckets=_BUCKETS_MS
)

sandbox_client_resume_latency_ms = Histogram(
    "sandbox_client_resume_latency_ms", "Milliseconds until a sandbox was resumed", ["status"], buckets=_BUCKETS_MS
)

sandbox_client_restore_latency_ms = Histogram(
    "sandbox_client_restore_latency_ms",
    "Milliseconds until a sandbox was restored",
    ["status"],
    buckets=_BUCKETS_MS,
)
