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

// The reference serves whoever dialled it, whomever they meant.
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
	// Who may not come in is told so first, and not who lives here.
	if status := plain(t, b.rest+"/v1/files/", map[string]string{"X-Sandbox-ID": "another"}); status != 401 {
		t.Errorf("without a token the answer is %d", status)
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
