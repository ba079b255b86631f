package sandbox

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
)

// apiFor returns a client of an API server that answers with these objects, by path, and the requests that it gets.
func apiFor(t *testing.T, options Options, answers map[string]string) (*Client, *[]string) {
	t.Helper()
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.URL.RequestURI())
		answer, ok := answers[r.Method+" "+r.URL.Path]
		if !ok || r.URL.Query().Get("watch") != "" {
			answer, ok = answers["WATCH "+r.URL.Path]
		}
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"kind":"Status","reason":"NotFound","message":"not found"}`
		}
		_, _ = io.WriteString(w, answer+"\n")
	}))
	t.Cleanup(server.Close)
	options.Quiet = true
	client, err := newClient(options, &rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client, &seen
}

func TestAddressOfAGateway(t *testing.T) {
	for _, test := range []struct {
		values []string
		want   string
	}{
		{[]string{"10.1.2.3", "10.1.2.4"}, "10.1.2.3"},
		{[]string{"gateway.example.com"}, "gateway.example.com"},
		{[]string{"2001:db8::1"}, "[2001:db8::1]"},
		{[]string{"evil.example/path", "evil?x", "evil#x", "user@evil", "evil:80", "-evil", "1.2.3", "fe80::1%eth0", strings.Repeat("a", 254), "", "10.1.2.3"}, "10.1.2.3"},
		{nil, ""},
	} {
		var gateway object
		for _, value := range test.values {
			gateway.Status.Addresses = append(gateway.Status.Addresses, struct {
				Value string `json:"value"`
			}{value})
		}
		if got := addressOf(&gateway); got != test.want {
			t.Errorf("addressOf(%q) = %q, want %q", test.values, got, test.want)
		}
	}
}

const gatewayPath = "/apis/gateway.networking.k8s.io/v1/namespaces/default/gateways"

func TestGatewayStrategy(t *testing.T) {
	options := Options{GatewayName: "edge", GatewayScheme: "https"}
	pending := `{"metadata":{"name":"edge","namespace":"default","uid":"1","resourceVersion":"5"}}`
	ready := `{"metadata":{"name":"edge","namespace":"default","uid":"1"},"status":{"addresses":[{"value":"10.1.2.3"}]}}`
	client, _ := apiFor(t, options, map[string]string{
		"GET " + gatewayPath + "/edge": pending,
		"WATCH " + gatewayPath:         `{"type":"MODIFIED","object":` + ready + `}`,
	})
	opened, err := client.open(t.Context(), client.options, "default", &object{})
	if err != nil || opened.router.url != "https://10.1.2.3" {
		t.Fatalf("got %v, %v", opened, err)
	}

	client, _ = apiFor(t, options, map[string]string{
		"GET " + gatewayPath + "/edge": pending,
		"WATCH " + gatewayPath:         `{"type":"DELETED","object":` + pending + `}`,
	})
	if _, err := client.open(t.Context(), client.options, "default", &object{}); !errors.Is(err, ErrGatewayDeleted) {
		t.Errorf("got %v", err)
	}

	options.GatewayReadyTimeout = time.Millisecond
	client, _ = apiFor(t, options, nil)
	if _, err := client.open(t.Context(), client.options, "default", &object{}); !errors.Is(describe(Key{}, "open", err), ErrTimeout) {
		t.Errorf("got %v", err)
	}
}

func TestFindRouter(t *testing.T) {
	slices := func(place string) string {
		return "GET /apis/discovery.k8s.io/v1/namespaces/" + place + "/endpointslices"
	}
	endpoints := func(endpoints string) string { return `{"items":[{"endpoints":[` + endpoints + `]}]}` }
	notReady := `{"conditions":{"ready":false},"targetRef":{"kind":"Pod","name":"old"}}`
	isReady := `{"conditions":{"ready":true},"targetRef":{"kind":"Pod","name":"router-1"}}`
	for _, test := range []struct {
		name    string
		answers map[string]string
		want    string
	}{
		{"in the namespace of the sandbox", map[string]string{slices("team"): endpoints(notReady + "," + isReady)}, "team/router-1"},
		{"in the system's namespace", map[string]string{slices("team"): endpoints(notReady), slices(systemNamespace): endpoints(isReady)}, systemNamespace + "/router-1"},
		{"nowhere", map[string]string{slices("team"): endpoints(""), slices(systemNamespace): endpoints(notReady)}, ""},
	} {
		client, _ := apiFor(t, Options{}, test.answers)
		namespace, pod, err := client.api.findRouter(t.Context(), "team")
		if test.want == "" {
			if !IsReason(err, Unreachable) {
				t.Errorf("%s: got %v", test.name, err)
			}
		} else if namespace+"/"+pod != test.want || err != nil {
			t.Errorf("%s: got %s/%s, %v", test.name, namespace, pod, err)
		}
	}
}

func TestWayToSandboxd(t *testing.T) {
	for _, test := range []struct {
		runtime string
		want    string
	}{
		// The injected daemon accepts the router only. Both ways fail here, because the server does not forward ports.
		{"", "POST /api/v1/namespaces/team/pods/the-pod/portforward"},
		{"Injected", "GET /apis/discovery.k8s.io/v1/namespaces/team/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dsandbox-router-svc"},
	} {
		client, seen := apiFor(t, Options{Runtime: RuntimeSandboxd}, nil)
		found := &object{Metadata: metadata{Annotations: map[string]string{podNameAnnotation: "the-pod"}}, Spec: map[string]any{"runtime": test.runtime}}
		if _, err := client.open(t.Context(), client.options, "team", found); err == nil || len(*seen) == 0 || (*seen)[0] != test.want {
			t.Errorf("%q: got %v after %q", test.runtime, err, *seen)
		}
	}
}

func TestAPIURLOfSandboxdReachesOnlyItsFiles(t *testing.T) {
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		_, _ = io.WriteString(w, "content of "+r.URL.Path)
	}))
	defer server.Close()
	client, err := newClient(Options{Runtime: RuntimeSandboxd, APIURL: server.URL, Quiet: true}, &rest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	box, err := client.newHandle(client.options)
	if err != nil {
		t.Fatal(err)
	}
	if err := box.connect(t.Context(), &object{Metadata: metadata{Name: "box"}}); err != nil {
		t.Fatal(err)
	}
	if got, err := box.Read(t.Context(), "a"); string(got) != "content of /v1/files/a" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if header.Get("X-Sandbox-ID") != "" {
		t.Error("a request to sandboxd names a sandbox")
	}
	if _, err := box.Run(t.Context(), "true"); !errors.Is(err, ErrNotReady) {
		t.Errorf("got %v", err)
	}
}

func TestLostTunnel(t *testing.T) {
	box := legacyBox(t, Options{}, func(http.ResponseWriter, *http.Request) {})
	ended := make(chan bool)
	close(ended)
	opened := &connection{strategy: directStrategy(""), ended: ended, closed: make(chan struct{})}
	box.connection = opened
	box.watchConnection(opened)
	if _, err := box.Run(t.Context(), "true"); box.IsReady() || !errors.Is(err, ErrNotReady) || !errors.Is(err, ErrPortForwardDied) {
		t.Errorf("got %v", err)
	}
}

func TestPodIPOf(t *testing.T) {
	for _, test := range []struct {
		addresses []string
		want      string
	}{
		{[]string{"2001:DB8::0:1", " 10.0.0.1 "}, "10.0.0.1"},
		{[]string{"::ffff:10.0.0.2", "10.0.0.1"}, "10.0.0.2"},
		{[]string{"not an address", "2001:DB8::0:1"}, "2001:db8::1"},
		{nil, ""},
	} {
		if got := podIPOf(test.addresses); got != test.want {
			t.Errorf("podIPOf(%q) = %q, want %q", test.addresses, got, test.want)
		}
	}
}

func TestClaimOfOpen(t *testing.T) {
	client, _ := apiFor(t, Options{
		WarmPoolName: "pool", Labels: map[string]string{"team": "a", createdByLabel: "me"}, Env: map[string]string{"A": "b"}, Lifetime: time.Minute,
		PodLabels: map[string]string{"sandbox.users.io/a": "b"}, VolumeClaimTemplates: []map[string]any{{"metadata": map[string]any{"name": "data"}}},
	}, nil)
	box, err := client.newHandle(client.options)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 16, 10, 0, 0, 5, time.UTC)
	wanted := box.claimFor(t.Context(), now)
	if wanted.Metadata.Labels[createdByLabel] != "go-client" || wanted.Metadata.Labels["team"] != "a" ||
		wanted.Metadata.Annotations[firstRequestedAnnotation] != "2026-11-16T10:00:00.000000005Z" || !strings.HasPrefix(wanted.Metadata.Name, "sandbox-claim-") {
		t.Errorf("got %+v", wanted.Metadata)
	}
	got, _ := json.Marshal(wanted.Spec)
	want := `{"additionalPodMetadata":{"labels":{"sandbox.users.io/a":"b"}},"env":[{"name":"A","value":"b"}],` +
		`"lifecycle":{"shutdownPolicy":"Delete","shutdownTime":"2026-11-16T10:01:00Z"},"volumeClaimTemplates":[{"metadata":{"name":"data"}}],` +
		`"warmPoolRef":{"name":"pool"}}`
	if string(got) != want {
		t.Errorf("got %s", got)
	}
}

// A tenant may own the Pod that the tunnel leads to, in a cluster without reserved names.
func TestNoCredentialOfTheAPIServerIsSentToTheRouter(t *testing.T) {
	box := legacyBox(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header {
			if strings.Contains(strings.Join(values, ""), apiToken) {
				t.Errorf("%s has the credential", name)
			}
		}
		_, _ = io.WriteString(w, `{"exit_code":0}`)
	})
	if _, err := box.Run(t.Context(), "true"); err != nil {
		t.Error(err)
	}
}

func TestWhereTheAPIServerIsFound(t *testing.T) {
	if _, err := NewK8sHelper(nil, logr.Discard()); !IsReason(err, InvalidArgument) {
		t.Errorf("got %v", err)
	}
	helper, err := NewK8sHelper(&rest.Config{Host: "https://helper"}, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	for name, text := range map[string]string{
		"box.json":   `{"routerUrl":"http://router"}`,
		"kubeconfig": `{"clusters":[{"name":"box","cluster":{"server":"https://box"}}],"contexts":[{"name":"box","context":{"cluster":"box"}}],"current-context":"box"}`,
		"other":      `{"clusters":[{"name":"other","cluster":{"server":"https://other"}}],"contexts":[{"name":"other","context":{"cluster":"other"}}],"current-context":"other"}`,
	} {
		if err := os.WriteFile(filepath.Join(data, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("AGENT_SANDBOX_DATA_DIR", data)
	for _, test := range []struct {
		kubeconfig string
		options    Options
		want       string
	}{
		{"other", Options{K8sHelper: helper, RestConfig: &rest.Config{Host: "https://config"}}, "https://helper"},
		{"other", Options{RestConfig: &rest.Config{Host: "https://config"}}, "https://config"},
		{"other", Options{DataDir: data}, "https://box"},
		{"other", Options{}, "https://other"},
		{"missing", Options{}, "https://box"},
	} {
		t.Setenv("KUBECONFIG", filepath.Join(data, test.kubeconfig))
		if config, err := referenceConfig(test.options); err != nil || config.Host != test.want {
			t.Errorf("got %v, %v instead of %s", config, err, test.want)
		}
	}
}
