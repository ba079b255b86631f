package sandbox

import (
	"errors"
	"fmt"
)

// Reason says why a call failed.
type Reason string

// The reasons of errors.
const (
	// NotFound: the sandbox, file, process or other object does not exist.
	NotFound Reason = "NotFound"
	// AlreadyExists: another object has this name.
	AlreadyExists Reason = "AlreadyExists"
	// Suspended: the sandbox is suspended, and traffic may not resume it.
	Suspended Reason = "Suspended"
	// Starting: the sandbox did not become ready in time, but still may.
	Starting Reason = "Starting"
	// Failed: the sandbox will not become ready. The message has the cause.
	Failed Reason = "Failed"
	// Unauthenticated: the credential is missing, invalid or expired.
	Unauthenticated Reason = "Unauthenticated"
	// Forbidden: the caller is not allowed to do this.
	Forbidden Reason = "Forbidden"
	// InvalidArgument: a parameter is not valid.
	InvalidArgument Reason = "InvalidArgument"
	// Conflict: the state of the object does not allow the call, for example a directory that is not empty.
	Conflict Reason = "Conflict"
	// LimitExceeded: a quota or a limit is reached.
	LimitExceeded Reason = "LimitExceeded"
	// TimedOut: the call took longer than its timeout.
	TimedOut Reason = "TimedOut"
	// Unreachable: the server could not be reached, and the call had no effect.
	Unreachable Reason = "Unreachable"
	// OutcomeUnknown: the connection was lost after the call was sent. It may have had an effect.
	OutcomeUnknown Reason = "OutcomeUnknown"
	// Unsupported: the server or the runtime in the sandbox does not have this feature.
	Unsupported Reason = "Unsupported"
	// Internal: anything else.
	Internal Reason = "Internal"
)

// Error is the error of every call, except those that return the error of a context. It never contains a credential.
type Error struct {
	Reason  Reason
	Message string
	// Status is the status of the HTTP response, or 0.
	Status int
	// ServerReason is the reason in the server's own words, for example SandboxStarting or NOT_FOUND.
	ServerReason string
	// Body is the beginning of the response.
	Body string

	cause error
	// transient errors may be over soon. sent says whether the call may have had an effect.
	transient, sent bool
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.cause }

// ReasonOf returns the reason of an error of this package, or "".
func ReasonOf(err error) Reason {
	var known *Error
	if errors.As(err, &known) {
		return known.Reason
	}
	return ""
}

func failf(reason Reason, format string, values ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, values...)}
}
