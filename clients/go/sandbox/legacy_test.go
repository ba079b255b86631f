package sandbox

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const apiToken = "token-of-the-api-server"

// legacyBox returns an open handle with the reference's rules whose sandbox is this server.
func legacyBox(t *testing.T, options Options, serve http.HandlerFunc) *Sandbox {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	options.APIURL, options.Quiet = server.URL, true
	client, err := newClient(options, &rest.Config{Host: server.URL, BearerToken: apiToken})
	if err != nil {
		t.Fatal(err)
	}
	box, err := client.newHandle(client.options)
	if err != nil {
		t.Fatal(err)
	}
	box.setClaim("claim", "")
	box.Name = "box"
	found := &object{Metadata: metadata{Name: "box"}}
	found.Status.PodIPs = []string{"10.0.0.9"}
	if err := box.connect(t.Context(), found); err != nil {
		t.Fatal(err)
	}
	return box
}

func TestDefaultsOfOptions(t *testing.T) {
	got, err := Options{}.withDefaults()
	want := Options{
		Namespace: "default", Runtime: "legacy-python", SandboxdRESTPort: 8080, SandboxdGRPCPort: 9090, GatewayNamespace: "default", GatewayScheme: "http",
		ServerPort: 8888, SandboxReadyTimeout: 180 * time.Second, GatewayReadyTimeout: 180 * time.Second, PortForwardReadyTimeout: 30 * time.Second,
		CleanupTimeout: 30 * time.Second, RequestTimeout: 180 * time.Second, PerAttemptTimeout: 60 * time.Second,
		MaxDownloadSize: 256 << 20, MaxUploadSize: 256 << 20, TraceServiceName: "sandbox-client",
	}
	if !reflect.DeepEqual(got, want) || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestInvalidOptions(t *testing.T) {
	for name, options := range map[string]Options{
		"a namespace with a slash":   {Namespace: "a/b"},
		"a pool with spaces":         {WarmPoolName: "my pool"},
		"an unknown runtime":         {Runtime: "docker"},
		"a gateway for sandboxd":     {Runtime: RuntimeSandboxd, GatewayName: "g"},
		"the same port twice":        {SandboxdRESTPort: 9090},
		"a port that does not exist": {ServerPort: 65536},
		"another scheme":             {GatewayScheme: "ftp"},
		"a URL without a host":       {APIURL: "http://"},
		"a URL of another scheme":    {APIURL: "ftp://user:secret@host"},
		"a negative timeout":         {RequestTimeout: -1},
		"a negative size":            {MaxUploadSize: -1},
		"a negative lifetime":        {Lifetime: -1},
	} {
		if _, err := options.withDefaults(); !IsReason(err, InvalidArgument) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestHeadersOfTheReference(t *testing.T) {
	var seen http.Header
	box := legacyBox(t, Options{Token: "secret"}, func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header
		_, _ = io.WriteString(w, `{"path":"a","exists":true}`)
	})
	if exists, err := box.Exists(t.Context(), "a"); !exists || err != nil {
		t.Fatalf("got %v, %v", exists, err)
	}
	for name, want := range map[string]string{
		"X-Sandbox-Id": "box", "X-Sandbox-Namespace": "default", "X-Sandbox-Port": "8888", "X-Sandbox-Pod-Ip": "10.0.0.9", "X-Sandbox-Timeout": "60",
		"X-Sandbox-Uid": "", "Authorization": "Bearer secret", "Traceparent": "",
	} {
		if got := seen.Get(name); got != want {
			t.Errorf("%s is %q instead of %q", name, got, want)
		}
	}
	if id := seen.Get("X-Request-ID"); len(id) != 16 {
		t.Errorf("the request id is %q", id)
	}
}

func TestACommandIsNotSentTwice(t *testing.T) {
	attempts := 0
	answer := func(status int, reason string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if attempts++; attempts > 1 {
				_, _ = io.WriteString(w, `{"stdout":"ran"}`)
				return
			}
			if reason != "" {
				w.Header().Set("X-Sandbox-Reason", reason)
			}
			w.WriteHeader(status)
		}
	}
	for _, test := range []struct {
		name     string
		status   int
		reason   string
		attempts int
	}{
		{"the sandbox may have received it", 502, "BadUpstream", 1},
		{"an unknown server failed", 503, "", 1},
		{"the router could not reach the sandbox", 502, "Refused", 2},
	} {
		attempts = 0
		result, err := legacyBox(t, Options{}, answer(test.status, test.reason)).Run(t.Context(), "true", WithMaxAttempts(6))
		var response *HTTPError
		switch {
		case attempts != test.attempts:
			t.Errorf("%s: %d attempts", test.name, attempts)
		case attempts == 1 && (!errors.As(err, &response) || response.StatusCode != test.status):
			t.Errorf("%s: got %v", test.name, err)
		case attempts == 2 && (err != nil || result.ExitCode != -1):
			t.Errorf("%s: got %+v, %v; an exit code that is missing is -1", test.name, result, err)
		}
	}
}

func TestFilesAreRetried(t *testing.T) {
	ids := map[string]bool{}
	attempts := 0
	box := legacyBox(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		attempts++
		ids[r.Header.Get("X-Request-ID")] = true
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	if _, err := box.Read(t.Context(), "a", WithMaxAttempts(2), WithMaxAttempts(0)); !errors.Is(err, ErrRetriesExhausted) || attempts != 2 || len(ids) != 1 {
		t.Errorf("%d attempts with ids %v, then %v", attempts, ids, err)
	}
	if box.PodIP() != "" {
		t.Error("the address of a Pod that may be gone is still used")
	}
	for number, want := range map[int]time.Duration{2: 0, 3: 500 * time.Millisecond, 6: 4 * time.Second, 20: 8 * time.Second} {
		if got := pauseBefore(number); got < want*3/4 || got > want*5/4 {
			t.Errorf("the pause before attempt %d is %v", number, got)
		}
	}
}

func TestRedirectsAreErrors(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") }))
	defer other.Close()
	box := legacyBox(t, Options{Token: "secret"}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	var response *HTTPError
	if _, err := box.Read(t.Context(), "a"); !errors.As(err, &response) || response.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("got %v", err)
	}
}

func TestLimitsOfResponses(t *testing.T) {
	box := legacyBox(t, Options{MaxDownloadSize: 10, MaxUploadSize: 10}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/execute" {
			_, _ = io.WriteString(w, `{"stdout":"`+strings.Repeat("x", 16<<20)+`"}`)
			return
		}
		_, _ = io.WriteString(w, "12345678901")
	})
	if _, err := box.Run(t.Context(), "yes"); !errors.Is(err, ErrResponseTooLarge) {
		t.Errorf("got %v", err)
	}
	if _, err := box.Read(t.Context(), "large"); !IsReason(err, LimitExceeded) {
		t.Errorf("got %v", err)
	}
	if err := box.Write(t.Context(), "large", make([]byte, 11)); !IsReason(err, LimitExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestTimeouts(t *testing.T) {
	box := legacyBox(t, Options{PerAttemptTimeout: 50 * time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) {
		// The server notices the end of the connection after it has read the request.
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	if _, err := box.Run(t.Context(), "sleep 1000"); !errors.Is(err, ErrTimeout) {
		t.Errorf("got %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := box.Run(short, "sleep 1000"); !errors.Is(err, ErrTimeout) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestWriteOfTheFirstRuntime(t *testing.T) {
	var name, content string
	box := legacyBox(t, Options{}, func(_ http.ResponseWriter, r *http.Request) {
		form, err := r.MultipartReader()
		if err != nil {
			t.Error(err)
			return
		}
		part, err := form.NextPart()
		if err != nil {
			t.Error(err)
			return
		}
		_, parameters, _ := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
		text, _ := io.ReadAll(part)
		name, content = parameters["filename"], string(text)
	})
	if err := box.Write(t.Context(), `folder/a "b".txt`, []byte("x")); err != nil || name != `folder/a "b".txt` || content != "x" {
		t.Errorf("got %q %q, %v", name, content, err)
	}
	for _, path := range []string{"", ".", "..", "a/", "../a", "a/../../b", "a\r\nX-Evil: 1"} {
		if err := box.Write(t.Context(), path, nil); !IsReason(err, InvalidArgument) {
			t.Errorf("Write(%q) gave %v", path, err)
		}
	}
}

func TestListOfTheFirstRuntime(t *testing.T) {
	var path string
	box := legacyBox(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.EscapedPath()
		_, _ = io.WriteString(w, `[{"name":"a","size":3,"type":"file","mod_time":1.5},{"name":"b","type":"socket"},{"name":"c","type":"directory","mod_time":"?"}]`)
	})
	got, err := box.List(t.Context(), "a/b ü")
	want := []FileEntry{{Name: "a", Size: 3, Type: FileTypeFile, ModTime: time.Unix(1, 5e8).UTC()}, {Name: "c", Type: FileTypeDirectory}}
	if !reflect.DeepEqual(got, want) || err != nil || path != "/list/a%2Fb%20%C3%BC" {
		t.Errorf("got %+v from %q, %v", got, path, err)
	}
	if _, err := box.List(t.Context(), ".."); err != nil || path != "/list/%2E%2E" {
		t.Errorf("got %q, %v", path, err)
	}
}

func TestOptionsThatTheFirstRuntimeLacks(t *testing.T) {
	box := legacyBox(t, Options{}, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	ctx := t.Context()
	_, withEnv := box.Run(ctx, "true", WithEnv(map[string]string{"A": "b"}))
	_, withRange := box.Read(ctx, "a", WithRange(0, 1))
	for name, err := range map[string]error{
		"environment": withEnv, "range": withRange, "mode": box.Write(ctx, "a", nil, WithMode("0600")), "delete": box.Delete(ctx, "a", false),
	} {
		if !errors.Is(err, ErrUnsupportedByRuntime) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
