package sandbox

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options of Connect. All are optional.
type Options struct {
	// Router is the address of the router. Default: AGENT_SANDBOX_ROUTER_URL, or the router of the running box.
	Router string
	// Namespace of sandboxes. Default: that of the kubeconfig's context, or "default".
	Namespace string
	// Kubeconfig is a file. Default: that of the running box, else as kubectl.
	Kubeconfig string
	// Context of the kubeconfig. Default: the current one.
	Context string
	// DataDir is the data folder of the box. Default: AGENT_SANDBOX_DATA_DIR, or /var/lib/agent-sandbox.
	DataDir string
	// RestConfig replaces Kubeconfig and Context.
	RestConfig *rest.Config
	// Token replaces the token of the kubeconfig.
	Token string
}

const defaultDataDir = "/var/lib/agent-sandbox"

// Connect finds the running box, or the cluster of the kubeconfig, or the cluster that this program runs in. It sends nothing yet.
func Connect(_ context.Context, options Options) (*Client, error) {
	var found box
	if options.Kubeconfig == "" && options.Context == "" && options.RestConfig == nil {
		found = findBox(firstOf(options.DataDir, os.Getenv("AGENT_SANDBOX_DATA_DIR"), defaultDataDir))
	}
	router := firstOf(options.Router, os.Getenv("AGENT_SANDBOX_ROUTER_URL"), found.router)
	if router == "" {
		return nil, failf(Unreachable, `Cannot find a router: no box is running here; start a box with "agent-sandbox up", or set the option Router or AGENT_SANDBOX_ROUTER_URL`)
	}
	config, namespace, err := loadConfig(options, found)
	if err != nil {
		return nil, failf(Unreachable, "Cannot load the kubeconfig: %v", err)
	}
	if options.Token != "" {
		config.BearerToken, config.BearerTokenFile = options.Token, ""
		config.TLSClientConfig.CertData, config.TLSClientConfig.KeyData = nil, nil
		config.TLSClientConfig.CertFile, config.TLSClientConfig.KeyFile = "", ""
	}
	api, err := newAPIServer(config)
	if err != nil {
		return nil, failf(Unreachable, "Cannot use the kubeconfig: %v", err)
	}
	runtime := &routerClient{url: strings.TrimSuffix(router, "/"), client: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 512, MaxConnsPerHost: 512},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, authorize: authorization(config)}
	return &Client{api: api, router: runtime, Namespace: firstOf(options.Namespace, namespace, "default")}, nil
}

func loadConfig(options Options, found box) (*rest.Config, string, error) {
	if options.RestConfig != nil {
		return rest.CopyConfig(options.RestConfig), "", nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = firstOf(options.Kubeconfig, found.kubeconfig)
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: options.Context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", err
	}
	namespace, _, err := loader.Namespace()
	return config, namespace, err
}

type box struct{ kubeconfig, router string }

// findBox returns the box that runs on this machine, if this user may use it.
func findBox(dataDir string) box {
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
