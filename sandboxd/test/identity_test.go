package test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1/processv1connect"
)

type addHeader struct {
	next        http.RoundTripper
	name, value string
}

func (a addHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(a.name, a.value)
	return a.next.RoundTrip(r)
}

// The reference implementation serves requests that are meant for other sandboxes.
func TestRequestsForAnotherSandbox(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{env: []string{"SANDBOXD_SANDBOX_NAME=mine", "SANDBOXD_SANDBOX_NAMESPACE=here", "SANDBOXD_SANDBOX_UID=1-2-3"}})
	for header, own := range map[string]string{"X-Sandbox-ID": "mine", "X-Sandbox-Namespace": "here", "X-Sandbox-UID": "1-2-3"} {
		for value, means := range map[string]bool{own: true, "": true, "another": false, own + "x": false, strings.ToUpper(own) + "A": false} {
			b.wantMeant(header, value, means)
		}
		line := "X-Sandbox-Token: " + tokenText + "\r\n" + header + ": " + own + "\r\n" + header + ": another\r\n\r\n"
		if got := raw(t, b.rest, "GET /v1/files/ HTTP/1.1\r\nHost: x\r\n"+line); !strings.Contains(got, " 421 ") {
			t.Errorf("two of %s give %q", header, got)
		}
	}
}

// Without the token of this sandbox, a client learns that it reached another one, but not which.
func TestClientsOfAReusedAddress(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{env: []string{"SANDBOXD_SANDBOX_NAME=mine", "SANDBOXD_SANDBOX_NAMESPACE=here", "SANDBOXD_SANDBOX_UID=1-2-3"}})
	otherToken := strings.Repeat("x", 43)
	for _, row := range []struct {
		header, value string
		status        int
	}{
		{"X-Sandbox-ID", "another", 401},
		{"X-Sandbox-Namespace", "another", 401},
		{"X-Sandbox-UID", "1-2-3", 401},
		{"X-Sandbox-UID", "another", 421},
	} {
		for _, url := range []string{b.rest + "/v1/files/", b.legacy + "/list/"} {
			got := b.doAs(otherToken, request{method: "GET", url: url, header: map[string]string{row.header: row.value}})
			got.wantStatus(t, row.status)
			if strings.Contains(got.body, "mine") || strings.Contains(got.body, "here") || strings.Contains(got.body, "1-2-3") {
				t.Errorf("%s %q: the answer tells who lives here: %s", row.header, row.value, got.body)
			}
		}
	}
	client := authenticated(h2c(), otherToken)
	client.Transport = addHeader{client.Transport, "X-Sandbox-UID", "another"}
	_, err := processv1connect.NewProcessServiceClient(client, b.grpc, connect.WithGRPC()).List(context.Background(), &processv1.ListRequest{})
	if connect.CodeOf(err) != connect.CodeFailedPrecondition || strings.Contains(err.Error(), "1-2-3") {
		t.Errorf("over gRPC: %v", err)
	}
}

func (b *box) wantMeant(header, value string, means bool) {
	b.t.Helper()
	ok, refused := 200, 421
	if means {
		refused = ok
	}
	given := map[string]string{header: value}
	b.do(request{method: "GET", url: b.rest + "/v1/files/", header: given}).wantStatus(b.t, refused)
	b.do(request{method: "GET", url: b.legacy + "/list/", header: given}).wantStatus(b.t, refused)
	b.do(request{method: "GET", url: b.rest + "/v1/health", header: given}).wantStatus(b.t, ok)
	client := authenticated(h2c(), tokenText)
	client.Transport = addHeader{client.Transport, header, value}
	_, err := processv1connect.NewProcessServiceClient(client, b.grpc, connect.WithGRPC()).List(context.Background(), &processv1.ListRequest{})
	if means != (err == nil) || (err != nil && connect.CodeOf(err) != connect.CodeFailedPrecondition) {
		b.t.Errorf("%s %q over gRPC: %v", header, value, err)
	}
}
