package sandbox

import (
	"net/http"
	"net/url"
	"regexp"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/rest"
)

// Runtime is the API that a handle of New, CreateSandbox or GetSandbox uses in its sandbox.
type Runtime string

// The runtimes.
const (
	// RuntimeLegacyPython is the API of the reference's first runtime: commands are split into words, and no shell sees them.
	RuntimeLegacyPython Runtime = "legacy-python"
	// RuntimeSandboxd runs commands with /bin/sh.
	RuntimeSandboxd Runtime = "sandboxd"
)

// Options of Connect, NewClient and New. All are optional.
type Options struct {
	// Namespace of sandboxes. Default: "default"; for Connect, that of the kubeconfig's context.
	Namespace string
	// Kubeconfig is a file. Default: for Connect that of the running box, else as kubectl; for NewClient and New the service account of the
	// Pod, else as kubectl, else that of the running box.
	Kubeconfig string
	// Context of the kubeconfig. Default: the current one.
	Context string
	// DataDir is the data folder of the box. Default: AGENT_SANDBOX_DATA_DIR, or /var/lib/agent-sandbox.
	DataDir string
	// RestConfig replaces Kubeconfig and Context.
	RestConfig *rest.Config
	// K8sHelper replaces RestConfig. Several clients can share one.
	K8sHelper *K8sHelper
	// Token is sent to the router. Connect sends the token of the kubeconfig by default, NewClient and New send none.
	Token string
	// HTTPTransport replaces the transport to the router, for example to add headers. NewClient and New only.
	HTTPTransport http.RoundTripper
	// TracerProvider gets one span per operation. Without one there are no spans and no trace headers.
	TracerProvider trace.TracerProvider
	// TraceServiceName is the first part of the names of spans. Default: "sandbox-client".
	TraceServiceName string

	// Router is the address of the router. Connect only. Default: AGENT_SANDBOX_ROUTER_URL, or the router of the running box.
	Router string

	// The following are for NewClient and New.

	// WarmPoolName is the pool from which Open takes a sandbox.
	WarmPoolName string
	// Runtime is the API inside the sandbox. Default: RuntimeLegacyPython.
	Runtime Runtime
	// SandboxdRESTPort and SandboxdGRPCPort are the ports of sandboxd in a Pod. Default: 8080 and 9090.
	SandboxdRESTPort, SandboxdGRPCPort int
	// APIURL is the address of the router, or with RuntimeSandboxd that of the REST API of sandboxd.
	APIURL string
	// GatewayName is a Gateway whose first address leads to the router. Default: a tunnel through the API server.
	GatewayName string
	// GatewayNamespace and GatewayScheme default to "default" and "http".
	GatewayNamespace, GatewayScheme string
	// ServerPort is the port of the first runtime in the sandbox. Default: 8888.
	ServerPort int
	// SandboxReadyTimeout and GatewayReadyTimeout default to three minutes.
	SandboxReadyTimeout, GatewayReadyTimeout time.Duration
	// PortForwardReadyTimeout and CleanupTimeout default to 30 seconds.
	PortForwardReadyTimeout, CleanupTimeout time.Duration
	// RequestTimeout limits calls without WithTimeout whose context has no deadline. Default: three minutes.
	RequestTimeout time.Duration
	// PerAttemptTimeout limits the time to a response for each attempt. WithTimeout replaces it. Default: one minute.
	PerAttemptTimeout time.Duration
	// MaxDownloadSize and MaxUploadSize default to 256 MiB.
	MaxDownloadSize, MaxUploadSize int64
	// Logger for what happens to sandboxes. Default: standard error.
	Logger logr.Logger
	// Quiet turns the default logger off.
	Quiet bool

	// Labels and Env of the claims that Open creates, and the time after which they are deleted.
	Labels, Env map[string]string
	Lifetime    time.Duration
	// PodLabels and PodAnnotations are added to the Pod. The server accepts only keys of certain domains.
	PodLabels, PodAnnotations map[string]string
	// VolumeClaimTemplates are passed to the claim as they are.
	VolumeClaimTemplates []map[string]any
}

var (
	dnsLabel     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	dnsSubdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

func or[T comparable](value *T, standard T) {
	var zero T
	if *value == zero {
		*value = standard
	}
}

// withDefaults returns options for NewClient and New, or an error about one that is not valid.
func (o Options) withDefaults() (Options, error) {
	or(&o.Namespace, "default")
	or(&o.Runtime, RuntimeLegacyPython)
	or(&o.SandboxdRESTPort, restPort)
	or(&o.SandboxdGRPCPort, rpcPort)
	or(&o.GatewayNamespace, "default")
	or(&o.GatewayScheme, "http")
	or(&o.ServerPort, 8888)
	for _, timeout := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&o.SandboxReadyTimeout, lifecycleTimeout}, {&o.GatewayReadyTimeout, lifecycleTimeout}, {&o.PortForwardReadyTimeout, 30 * time.Second},
		{&o.CleanupTimeout, 30 * time.Second}, {&o.RequestTimeout, lifecycleTimeout}, {&o.PerAttemptTimeout, time.Minute},
	} {
		or(timeout.value, timeout.standard)
		if *timeout.value < 0 {
			return o, failf(InvalidArgument, "Cannot use a timeout of %v: it is negative", *timeout.value)
		}
	}
	or(&o.MaxDownloadSize, 256<<20)
	or(&o.MaxUploadSize, 256<<20)
	or(&o.TraceServiceName, "sandbox-client")
	return o, o.check()
}

func (o Options) check() error {
	for _, port := range []int{o.SandboxdRESTPort, o.SandboxdGRPCPort, o.ServerPort} {
		if port < 1 || port > 65535 {
			return failf(InvalidArgument, "Cannot use port %d", port)
		}
	}
	address, err := url.Parse(o.APIURL)
	switch {
	case len(o.Namespace) > 63 || !dnsLabel.MatchString(o.Namespace):
		return failf(InvalidArgument, "Cannot use namespace %q: it is not a DNS label", o.Namespace)
	case o.WarmPoolName != "" && (len(o.WarmPoolName) > 253 || !dnsSubdomain.MatchString(o.WarmPoolName)):
		return failf(InvalidArgument, "Cannot use pool %q: it is not a DNS name", o.WarmPoolName)
	case o.Runtime != RuntimeLegacyPython && o.Runtime != RuntimeSandboxd:
		return failf(InvalidArgument, "Cannot use runtime %q: it is neither %q nor %q", o.Runtime, RuntimeLegacyPython, RuntimeSandboxd)
	case o.Runtime == RuntimeSandboxd && o.GatewayName != "":
		return failf(InvalidArgument, "Cannot use runtime %q with a gateway", o.Runtime)
	case o.SandboxdRESTPort == o.SandboxdGRPCPort:
		return failf(InvalidArgument, "Cannot use port %d for both APIs of sandboxd", o.SandboxdRESTPort)
	case o.GatewayScheme != "http" && o.GatewayScheme != "https":
		return failf(InvalidArgument, "Cannot use gateway scheme %q: it is neither http nor https", o.GatewayScheme)
	case o.APIURL != "" && (err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https"):
		// The URL may contain a credential.
		return failf(InvalidArgument, "Cannot use the APIURL: it is not an http or https URL with a host")
	case o.MaxDownloadSize < 0 || o.MaxUploadSize < 0:
		return failf(InvalidArgument, "Cannot use a negative size limit")
	case o.Lifetime < 0:
		return failf(InvalidArgument, "Cannot use a lifetime of %v: it is negative", o.Lifetime)
	}
	return nil
}
