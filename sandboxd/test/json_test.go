package test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1/processv1connect"
)

// Scripts compare these answers, so they must be the same in every build.
func TestJSONHasNoSpaces(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	post := func(procedure, contentType, body string) answer {
		return b.do(request{method: "POST", url: b.grpc + procedure, body: strings.NewReader(body), header: map[string]string{"Content-Type": contentType}})
	}
	config := `{"config": {"shell": "echo hello; echo bad >&2; exit 3"}}`
	for _, contentType := range []string{"application/json", "application/json; charset=utf-8"} {
		post(processv1connect.ProcessServiceExecuteProcedure, contentType, config).want(t, 200, `{"exitCode":3,"stdout":"aGVsbG8K","stderr":"YmFkCg=="}`)
	}
	refused := post(processv1connect.ProcessServiceExecuteProcedure, "application/json", `{"config": {"command": ["true"], "cwd": "missing"}}`)
	if refused.status == 200 || !strings.HasPrefix(refused.body, `{"code":"not_found","message":"`) {
		t.Errorf("got %d %s", refused.status, refused.body)
	}

	killed := `{"config": {"shell": "kill -9 $$"}}`
	frame := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(killed)))
	stream := post(processv1connect.ProcessServiceStartProcedure, "application/connect+json", string(frame)+killed).body
	if want := `{"exit":{"exitCode":-1,"signal":9}}`; !strings.Contains(stream, want) {
		t.Errorf("%s is missing in %q", want, stream)
	}
}
