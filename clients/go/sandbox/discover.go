package sandbox

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const defaultDataDir = "/var/lib/agent-sandbox"

// Connect finds the running box, or the cluster of the kubeconfig, or the cluster that this program runs in. It sends nothing yet.
// Sandboxes are reached through the router, with the credential of the kubeconfig.
func Connect(_ context.Context, options Options) (*Client, error) {
	var found box
	if options.Kubeconfig == "" && options.Context == "" && options.RestConfig == nil && options.K8sHelper == nil {
		found = findBox(options.DataDir)
	}
	router := firstOf(options.Router, os.Getenv("AGENT_SANDBOX_ROUTER_URL"), found.router)
	if router == "" {
		return nil, failf(Unreachable, `Cannot find a router: no box is running here; start a box with "agent-sandbox up", or set the option Router or AGENT_SANDBOX_ROUTER_URL`)
	}
	config, namespace, err := loadConfig(options, found)
	if err != nil {
		return nil, failf(Unreachable, "Cannot load the kubeconfig: %v", err)
	}
	options.Namespace, options.Quiet = firstOf(options.Namespace, namespace), true
	client, err := newClient(options, config)
	if err != nil {
		return nil, err
	}
	client.router = &routerClient{
		url: strings.TrimSuffix(router, "/"), client: httpClient(newTransport()), authorize: authorization(config), tracing: client.tracing,
	}
	return client, nil
}

// newTransport connects without the proxies of the environment.
func newTransport() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 512, MaxConnsPerHost: 512, IdleConnTimeout: 90 * time.Second}
}

// httpClient returns redirects instead of following them, so that no credential reaches another server.
func httpClient(transport http.RoundTripper) *http.Client {
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func loadConfig(options Options, found box) (*rest.Config, string, error) {
	config, namespace, err := (*rest.Config)(nil), "", error(nil)
	switch {
	case options.K8sHelper != nil:
		config = rest.CopyConfig(options.K8sHelper.RestConfig)
	case options.RestConfig != nil:
		config = rest.CopyConfig(options.RestConfig)
	default:
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = firstOf(options.Kubeconfig, found.kubeconfig)
		loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: options.Context})
		if config, err = loader.ClientConfig(); err == nil {
			namespace, _, err = loader.Namespace()
		}
	}
	if err != nil {
		return nil, "", err
	}
	if options.Token != "" {
		config.BearerToken, config.BearerTokenFile = options.Token, ""
		config.TLSClientConfig.CertData, config.TLSClientConfig.KeyData = nil, nil
		config.TLSClientConfig.CertFile, config.TLSClientConfig.KeyFile = "", ""
	}
	return config, namespace, nil
}

type box struct{ kubeconfig, router string }

// findBox returns the box that runs on this machine, if this user may use it.
func findBox(dataDir string) box {
	dataDir = firstOf(dataDir, os.Getenv("AGENT_SANDBOX_DATA_DIR"), defaultDataDir)
	text, err := os.ReadFile(filepath.Join(dataDir, "box.json"))
	var record struct {
		RouterURL string `json:"routerUrl"`
	}
	if err != nil || json.Unmarshal(text, &record) != nil || record.RouterURL == "" {
		return box{}
	}
	return box{kubeconfig: filepath.Join(dataDir, "kubeconfig"), router: record.RouterURL}
}

// authorization returns the header that client-go would send, for requests to the router. It renews tokens as client-go does.
func authorization(config *rest.Config) func(*http.Request) error {
	spy := &headerSpy{}
	wrapped, err := rest.HTTPWrappersForConfig(config, spy)
	return func(request *http.Request) error {
		if err != nil {
			return failf(Unauthenticated, "Cannot authenticate to the router: %v", err)
		}
		probe := request.Clone(request.Context())
		probe.Body = nil
		response, err := wrapped.RoundTrip(probe)
		if err != nil {
			return failf(Unauthenticated, "Cannot authenticate to the router: %v", err)
		}
		value := response.Request.Header.Get("Authorization")
		if value == "" {
			return failf(Unauthenticated, "Cannot authenticate to the router: the kubeconfig has no token; set the option Token")
		}
		request.Header.Set("Authorization", value)
		return nil
	}
}

// headerSpy answers every request at once. The wrappers of client-go have added their headers by then.
type headerSpy struct{}

func (*headerSpy) RoundTrip(request *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Request: request, Body: http.NoBody}, nil
}

func firstOf(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}
