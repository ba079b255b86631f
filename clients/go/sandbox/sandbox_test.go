package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestEncodePath(t *testing.T) {
	for path, want := range map[string]string{
		"a/b.txt": "a/b.txt", "/a//b/./c": "a/b/c", "a/../b": "b", ".": "", "ü %41?#": "%C3%BC%20%2541%3F%23",
	} {
		if got, err := encodePath(path); got != want || err != nil {
			t.Errorf("encodePath(%q) = %q, %v; want %q", path, got, err, want)
		}
	}
	for _, path := range []string{"..", "../x", "a/../../x", "/../x"} {
		if _, err := encodePath(path); !IsReason(err, Forbidden) {
			t.Errorf("encodePath(%q) = %v, want Forbidden", path, err)
		}
	}
}

func TestRetry(t *testing.T) {
	refused := &Error{Reason: Unreachable, Message: "refused", transient: true}
	reset := &Error{Reason: Unreachable, Message: "reset", transient: true, sent: true}
	final := &Error{Reason: NotFound, Message: "not found"}
	for _, test := range []struct {
		name       string
		repeatable bool
		failures   []error
		attempts   int
		reason     Reason
	}{
		{"a repeatable call after a lost connection", true, []error{reset}, 2, ""},
		{"a call that the server has not received", false, []error{refused, refused}, 3, ""},
		{"a call that the server may have received", false, []error{reset}, 1, OutcomeUnknown},
		{"a call that the server refused", true, []error{final}, 1, NotFound},
	} {
		t.Run(test.name, func(t *testing.T) {
			attempts := 0
			_, err := retry(t.Context(), attempt{doing: "Cannot do it", repeatable: test.repeatable}, func(number int) (int, error) {
				if attempts++; number <= len(test.failures) {
					return 0, test.failures[number-1]
				}
				return 1, nil
			})
			if attempts != test.attempts || ReasonOf(err) != test.reason {
				t.Errorf("%d attempts, then %v", attempts, err)
			}
		})
	}
}

func TestRetryEndsWithItsContext(t *testing.T) {
	why := errors.New("no longer needed")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := retry(ctx, attempt{repeatable: true}, func(int) (int, error) {
		cancel(why)
		return 0, &Error{Reason: Unreachable, transient: true}
	})
	if !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}

func TestEnvelopes(t *testing.T) {
	message := []byte(`{"a":"ü"}`)
	flags, got, err := readEnvelope(bytes.NewReader(envelope(message)))
	if flags != 0 || !bytes.Equal(got, message) || err != nil {
		t.Errorf("got %d %q %v", flags, got, err)
	}
	if _, _, err := readEnvelope(bytes.NewReader(envelope(message)[:7])); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a truncated message gives %v", err)
	}
	if _, _, err := readEnvelope(strings.NewReader("\x00\xff\xff\xff\xffx")); err == nil {
		t.Error("a message that claims to be huge was read")
	}
}

func TestCreateOptions(t *testing.T) {
	for name, options := range map[string]CreateOptions{
		"nothing":                  {},
		"two sources":              {Image: "host", Pool: "p"},
		"limits without an image":  {Pool: "p", Memory: "1Gi"},
		"variables of a snapshot":  {Snapshot: "s", Env: map[string]string{"A": "b"}},
		"a negative lifetime":      {Image: "host", Lifetime: -time.Second},
		"a program without images": {Template: "t", Command: []string{"true"}},
	} {
		if err := options.check(); !IsReason(err, InvalidArgument) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	now := time.Date(2026, 11, 16, 10, 0, 0, 0, time.UTC)
	got := CreateOptions{Image: "host", Memory: "1Gi", SuspendAfter: time.Minute, Lifetime: 90 * time.Second}.sandbox(now).Spec
	want := map[string]any{
		"runtime": "Injected",
		"podTemplate": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
			"name": "main", "image": "host", "resources": map[string]any{"limits": map[string]string{"memory": "1Gi"}},
		}}}},
		"idlePolicy":     map[string]any{"suspendAfterSeconds": 60},
		"shutdownTime":   "2026-11-16T10:01:30Z",
		"shutdownPolicy": "Delete",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestErrorsOfTheRouter(t *testing.T) {
	attempts := 0
	ages := []string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		attempts++
		ages = append(ages, r.Header.Get("X-Request-Age"))
		w.Header().Set("X-Sandbox-Reason", []string{"BadUpstream", "SandboxSuspended"}[attempts-1])
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte(`{"detail":"because"}`))
	}))
	defer server.Close()
	router := &routerClient{url: server.URL, client: server.Client(), authorize: func(r *http.Request) error {
		r.Header.Set("Authorization", "Bearer secret-token")
		return nil
	}}
	var into struct{}
	box := newLink(nil, nil)
	box.connect(router, target{name: "box"}, Key{}, nil)
	err := handle{box}.unary(t.Context(), attempt{doing: "Cannot do it", repeatable: true}, "List", into, &into)
	if !IsReason(err, Suspended) || err.Error() != "Cannot do it: because" || attempts != 2 {
		t.Errorf("%d attempts, then %v", attempts, err)
	}
	if ages[0] != "" || ages[1] == "" {
		t.Errorf("the ages are %q", ages)
	}
	if strings.Contains(err.Error()+err.(*Error).Body, "secret-token") {
		t.Error("the error contains the credential")
	}
}
