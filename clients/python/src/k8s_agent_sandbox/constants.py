"""Names of the Kubernetes API that the client uses."""

GATEWAY_API_GROUP = "gateway.networking.k8s.io"
GATEWAY_API_VERSION = "v1"
GATEWAY_PLURAL = "gateways"

CLAIM_API_GROUP = "extensions.agents.x-k8s.io"
CLAIM_API_VERSION = "v1beta1"
CLAIM_PLURAL_NAME = "sandboxclaims"

SANDBOX_API_GROUP = "agents.x-k8s.io"
SANDBOX_API_VERSION = "v1beta1"
SANDBOX_PLURAL_NAME = "sandboxes"

CLIENT_REQUEST_TIME_ANNOTATION = "agents.x-k8s.io/client-first-requested-at"
POD_NAME_ANNOTATION = "agents.x-k8s.io/pod-name"
CREATED_BY_LABEL = "agents.x-k8s.io/created-by"
SANDBOX_NAME_HASH_LABEL = "agents.x-k8s.io/sandbox-name-hash"

PODSNAPSHOT_API_GROUP = "podsnapshot.gke.io"
PODSNAPSHOT_API_VERSION = "v1"
PODSNAPSHOT_API_KIND = "PodSnapshot"
PODSNAPSHOT_PLURAL = "podsnapshots"
PODSNAPSHOTMANUALTRIGGER_API_KIND = "PodSnapshotManualTrigger"
PODSNAPSHOTMANUALTRIGGER_PLURAL = "podsnapshotmanualtriggers"
PODSNAPSHOT_POD_NAME_ANNOTATION = "podsnapshot.gke.io/origin-pod"
PODSNAPSHOT_NAME_ANNOTATION = "podsnapshot.gke.io/ps-name"

# A claim whose condition Ready is False for one of these reasons does not become ready by itself.
TERMINAL_CLAIM_READY_REASONS = frozenset(
    {
        "ClaimExpired",
        "EnvVarsInjectionRejected",
        "InvalidConfiguration",
        "InvalidMetadata",
        "PodFailed",
        "PodSucceeded",
        "SandboxExpired",
        "VolumeClaimTemplatesError",
    }
)
