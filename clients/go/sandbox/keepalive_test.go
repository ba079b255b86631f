package sandbox

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// boxThatSends returns the handle of a sandbox that streams these lines to a client that asks for signs of life.
func boxThatSends(t *testing.T, lines string) handle {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("keepalive") != "60" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = w.Write([]byte(lines))
	}))
	t.Cleanup(server.Close)
	box := newLink(nil, nil)
	authorize := func(*http.Request) error { return nil }
	box.connect(&routerClient{url: server.URL, client: server.Client(), authorize: authorize}, target{name: "box"}, Key{}, nil)
	return handle{box}
}

func TestRunningCodeIgnoresSignsOfLife(t *testing.T) {
	box := boxThatSends(t, "{\"type\":\"keepalive\"}\n{\"type\":\"stdout\",\"text\":\"x\"}\n{\"type\":\"end\"}\n")
	result, err := (&CodeContext{handle: box, ID: "c"}).Run(t.Context(), "slow()")
	if err != nil || result.Stdout != "x" || len(result.Results) != 0 {
		t.Errorf("got %+v, %v", result, err)
	}
}

func TestARunWhoseStreamHasNoEndIsNotAResult(t *testing.T) {
	box := boxThatSends(t, "{\"type\":\"stdout\",\"text\":\"x\"}\n")
	_, err := (&CodeContext{handle: box, ID: "c"}).Run(t.Context(), "slow()")
	if !IsReason(err, OutcomeUnknown) {
		t.Errorf("got %v", err)
	}
}

func TestARunWhoseInterpreterEndedHasAResult(t *testing.T) {
	older := "{\"type\":\"stdout\",\"text\":\"x\"}\n{\"type\":\"error\",\"name\":\"ContextEnded\",\"message\":\"m\"}\n"
	for name, lines := range map[string]string{"older": older, "newer": older + "{\"type\":\"end\"}\n", "waits": older + "{\"type\":\"keepalive\"}\n"} {
		result, err := (&CodeContext{handle: boxThatSends(t, lines), ID: "c"}).Run(t.Context(), "import os; os._exit(3)")
		if err != nil || result.Stdout != "x" || result.Error == nil || *result.Error != (CodeError{Name: "ContextEnded", Message: "m"}) {
			t.Errorf("%s: got %+v, %v", name, result, err)
		}
	}
}

func TestAWatchIgnoresSignsOfLife(t *testing.T) {
	box := boxThatSends(t, "{\"type\":\"ready\"}\n{\"type\":\"keepalive\"}\n{\"type\":\"created\",\"path\":\"a\"}\n")
	watch, err := (&Files{handle: box}).Watch(t.Context(), "/", false)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	if change, err := watch.Next(); err != nil || change != (FileChange{Type: "created", Path: "a"}) {
		t.Errorf("got %+v, %v", change, err)
	}
}
