package sandbox

import (
	"context"
	"errors"
	"fmt"
)

// The errors of handles from New, CreateSandbox and GetSandbox, for errors.Is. Such an error also wraps an *Error with the cause, and an
// *HTTPError if there was a response.
var (
	// ErrNotReady: the handle is not connected. Call Open.
	ErrNotReady = errors.New("sandbox is not ready")
	// ErrTimeout: the call, or the wait for the sandbox, took too long.
	ErrTimeout = errors.New("operation timed out")
	// ErrClaimFailed: the claim was refused, or will never get a sandbox.
	ErrClaimFailed = errors.New("claim creation failed")
	// ErrPortForwardDied: the connection through the API server has ended. Call Open.
	ErrPortForwardDied = errors.New("port-forward connection lost")
	// ErrAlreadyOpen: the handle is connected.
	ErrAlreadyOpen = errors.New("sandbox is already open; call Close first")
	// ErrOrphanedClaim: the claim exists, but its sandbox cannot be used.
	ErrOrphanedClaim = errors.New("orphaned claim; call Close() to retry deletion")
	// ErrRetriesExhausted: every attempt of the call failed. The last failure is wrapped too.
	ErrRetriesExhausted = errors.New("retries exhausted")
	// ErrSandboxDeleted: somebody deleted the claim or the sandbox.
	ErrSandboxDeleted = errors.New("sandbox was deleted before becoming ready")
	// ErrGatewayDeleted: somebody deleted the Gateway.
	ErrGatewayDeleted = errors.New("gateway was deleted during address discovery")
	// ErrResponseTooLarge: a command has written more than fits into a response.
	ErrResponseTooLarge = errors.New("response exceeded 16 MB limit")
	// ErrUnsupportedByRuntime: the runtime in the sandbox cannot do this.
	ErrUnsupportedByRuntime = errors.New("operation not supported by the sandbox runtime")
)

// HTTPError is a response with an unsuccessful status.
type HTTPError struct {
	StatusCode int
	// Body is the beginning of the response. For sandboxd: the code and the message.
	Body string
	// Operation is the name of the call, such as "run".
	Operation string
}

func (e *HTTPError) Error() string {
	return fmt.Sprintf("%s: the server answered %d: %s", e.Operation, e.StatusCode, e.Body)
}

// maxErrorBody limits HTTPError.Body.
const maxErrorBody = 512

// handleError adds the name of the claim and the errors above to an error.
type handleError struct {
	claim Key
	err   error
	also  []error
}

func (e *handleError) Error() string {
	message := fmt.Sprintf("sandbox[%s/%s]: %v", e.claim.Namespace, e.claim.ClaimName, e.err)
	for _, other := range e.also {
		if _, isResponse := other.(*HTTPError); !isResponse {
			message += ": " + other.Error()
		}
	}
	return message
}

func (e *handleError) Unwrap() []error { return append([]error{e.err}, e.also...) }

// describe turns an error of an operation into one that programs for the reference's client understand.
func describe(claim Key, operation string, err error) error {
	if err == nil {
		return nil
	}
	described := &handleError{claim: claim, err: err}
	add := func(sentinel error) {
		if !errors.Is(err, sentinel) {
			described.also = append(described.also, sentinel)
		}
	}
	if IsReason(err, TimedOut) || IsReason(err, Starting) || errors.Is(err, context.DeadlineExceeded) {
		add(ErrTimeout)
	}
	if IsReason(err, Unsupported) {
		add(ErrUnsupportedByRuntime)
	}
	var failure *Error
	var response *HTTPError
	if errors.As(err, &failure) && failure.Status >= 300 && !errors.As(err, &response) {
		body := failure.Body
		if failure.ServerReason != "" {
			body = failure.ServerReason + ": " + failure.Message
		}
		described.also = append(described.also, &HTTPError{StatusCode: failure.Status, Body: body[:min(len(body), maxErrorBody)], Operation: operation})
	}
	return described
}
