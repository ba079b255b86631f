package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"
)

// routerClient sends requests to sandboxes. It wakes those that sleep.
type routerClient struct {
	url       string
	client    *http.Client
	authorize func(*http.Request) error
	tracing   *tracing
	// bare: the requests do not go through a router, so they do not name the sandbox.
	bare bool
	// ports of the Pod, and a client with HTTP/2, if the connections lead to the Pod itself.
	ports map[int]int
	grpc  *http.Client
}

// target is the sandbox that a request is for. With a UID, a later sandbox of the same name does not get it.
type target struct{ namespace, name, uid string }

// call is a request to a port of a sandbox.
type call struct {
	attempt
	port         int
	method, path string
	header       map[string]string
	body         []byte
	// stream replaces body. It can be sent only once.
	stream io.Reader
	// refuse turns an unsuccessful response of the sandbox into an error. It is not called for errors of the router.
	refuse func(status int, body []byte) *Error
}

// send returns a successful response. The caller closes its body.
func (r *routerClient) send(ctx context.Context, to target, c call) (*http.Response, error) {
	started := time.Now()
	if c.stream != nil {
		c.repeatable = false
	}
	return retry(ctx, c.attempt, func(number int) (*http.Response, error) {
		age := ""
		if number > 1 {
			// A sandbox that has restarted since the first attempt refuses the call: it may have run before.
			age = strconv.FormatInt(time.Since(started).Milliseconds(), 10)
		}
		return r.sendOnce(ctx, to, c, age)
	})
}

// sendOnce makes one attempt. The age is empty for the first one.
func (r *routerClient) sendOnce(ctx context.Context, to target, c call, age string) (*http.Response, error) {
	request, err := r.request(ctx, c)
	if err != nil {
		return nil, err
	}
	if !r.bare {
		request.Header.Set("X-Sandbox-ID", to.name)
		request.Header.Set("X-Sandbox-Namespace", to.namespace)
		request.Header.Set("X-Sandbox-Port", strconv.Itoa(c.port))
		if to.uid != "" {
			request.Header.Set("X-Sandbox-UID", to.uid)
		}
	}
	if age != "" {
		request.Header.Set("X-Request-Age", age)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return nil, lost(c.doing, err, wasSent(err))
	}
	if response.StatusCode < 300 {
		return response, nil
	}
	body := readError(response)
	if failure := routerError(c.doing, response, body); failure != nil {
		return nil, failure
	}
	return nil, c.refuse(response.StatusCode, body)
}

func (r *routerClient) request(ctx context.Context, c call) (*http.Request, error) {
	var body io.Reader = bytes.NewReader(c.body)
	if c.stream != nil {
		body = c.stream
	}
	address := r.url
	if port, ok := r.ports[c.port]; ok {
		address = fmt.Sprintf("%s:%d", r.url, port)
	}
	request, err := http.NewRequestWithContext(ctx, c.method, address+c.path, body)
	if err != nil {
		return nil, err
	}
	for name, value := range c.header {
		request.Header.Set(name, value)
	}
	r.tracing.inject(ctx, request.Header)
	if r.authorize == nil {
		return request, nil
	}
	return request, r.authorize(request)
}

func wasSent(err error) bool {
	var dial *net.OpError
	return !errors.As(err, &dial) || dial.Op != "dial"
}

type known struct {
	reason          Reason
	transient, sent bool
}

// routerReasons are the errors of the router itself.
var routerReasons = map[string]known{
	"InvalidRequest":         {reason: InvalidArgument},
	"Unauthenticated":        {reason: Unauthenticated},
	"Forbidden":              {reason: Forbidden},
	"SandboxNotFound":        {reason: NotFound},
	"SandboxSuspended":       {reason: Suspended},
	"SandboxExpired":         {reason: NotFound},
	"BodyTooLarge":           {reason: LimitExceeded},
	"HeadersTooLarge":        {reason: LimitExceeded},
	"CallerLimit":            {reason: LimitExceeded, transient: true},
	"SandboxLimit":           {reason: LimitExceeded, transient: true},
	"TooManyWaitingRequests": {reason: LimitExceeded, transient: true},
	"Refused":                {reason: Unreachable, transient: true},
	"Unreachable":            {reason: Unreachable, transient: true},
	"Unverified":             {reason: Unreachable, transient: true},
	"NotSynced":              {reason: Unreachable, transient: true},
	"BadUpstream":            {reason: Unreachable, transient: true, sent: true},
	"SandboxStopped":         {reason: Unreachable, transient: true, sent: true},
	"Timeout":                {reason: TimedOut, transient: true, sent: true},
	"SandboxStarting":        {reason: Starting, transient: true},
	"Unschedulable":          {reason: Failed},
	"ImageUnavailable":       {reason: Failed},
	"SandboxCrashing":        {reason: Failed},
	"SandboxFinished":        {reason: Failed},
	"WakeFailed":             {reason: Failed},
}

// routerError returns the error of a response of the router itself, or nil if the response came from the sandbox.
func routerError(doing string, response *http.Response, body []byte) *Error {
	reason := response.Header.Get("X-Sandbox-Reason")
	if reason == "" {
		return nil
	}
	var detail struct{ Detail string }
	_ = json.Unmarshal(body, &detail)
	about := routerReasons[reason]
	message := doing + ": " + firstOf(detail.Detail, fmt.Sprintf("the router answered %d", response.StatusCode))
	return &Error{
		Reason: reasonOr(about.reason), Message: message, Status: response.StatusCode, ServerReason: reason, Body: string(body),
		transient: about.transient, sent: about.sent,
	}
}

func newRequestID() string { return rand.Text() }
