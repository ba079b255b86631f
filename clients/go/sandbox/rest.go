package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

const restPort = 8080

// keepAliveSeconds is how long a stream may be silent: the router ends it after three minutes.
const keepAliveSeconds = "60"

var restReasons = map[string]Reason{
	"INVALID_ARGUMENT": InvalidArgument, "UNAUTHENTICATED": Unauthenticated, "MISDIRECTED": NotFound, "PERMISSION_DENIED": Forbidden,
	"NOT_FOUND": NotFound, "CONFLICT": Conflict, "FAILED_PRECONDITION": Conflict, "OUTCOME_UNKNOWN": OutcomeUnknown,
	"TOO_LARGE": LimitExceeded, "RESOURCE_EXHAUSTED": LimitExceeded, "UNAVAILABLE": Unreachable,
}

type restCall struct {
	doing, method, path string
	query               url.Values
	header              map[string]string
	body                []byte
	stream              io.Reader
	// unrepeatable calls are not remembered by the runtime.
	unrepeatable bool
}

// rest calls the REST API of sandboxd. The caller closes the body.
func (h handle) rest(ctx context.Context, c restCall) (*http.Response, error) {
	header := map[string]string{"X-Request-ID": newRequestID()}
	for name, value := range c.header {
		header[name] = value
	}
	path := "/v1" + c.path
	if len(c.query) > 0 {
		path += "?" + c.query.Encode()
	}
	return h.send(ctx, call{
		attempt: attempt{doing: c.doing, repeatable: !c.unrepeatable}, port: restPort, method: c.method, path: path, header: header,
		body: c.body, stream: c.stream,
		refuse: func(status int, body []byte) *Error {
			var failure struct{ Code, Message string }
			_ = json.Unmarshal(body, &failure)
			// The runtime says itself what it could not do.
			message := firstOf(failure.Message, fmt.Sprintf("%s: the sandbox answered %d", c.doing, status))
			return &Error{Reason: reasonOr(restReasons[failure.Code]), Message: message, Status: status, ServerReason: failure.Code, Body: string(body)}
		},
	})
}

// json sends and receives JSON. Both may be nil.
func (h handle) json(ctx context.Context, c restCall, send, receive any) error {
	if send != nil {
		content, err := json.Marshal(send)
		if err != nil {
			return err
		}
		c.body, c.header = content, map[string]string{"Content-Type": "application/json"}
	}
	response, err := h.rest(ctx, c)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var content bytes.Buffer
	if _, err := content.ReadFrom(response.Body); err != nil {
		return ended(ctx, lost(c.doing, err, true))
	}
	if receive == nil {
		return nil
	}
	return json.Unmarshal(content.Bytes(), receive)
}
