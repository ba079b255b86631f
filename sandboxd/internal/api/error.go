// Package api has the errors, request parsing and responses that all HTTP handlers share.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

// Codes of the error body.
const (
	InvalidArgument    = "INVALID_ARGUMENT"
	Unauthenticated    = "UNAUTHENTICATED"
	PermissionDenied   = "PERMISSION_DENIED"
	NotFound           = "NOT_FOUND"
	Conflict           = "CONFLICT"
	FailedPrecondition = "FAILED_PRECONDITION"
	TooLarge           = "TOO_LARGE"
	Misdirected        = "MISDIRECTED"
	Exhausted          = "RESOURCE_EXHAUSTED"
	Internal           = "INTERNAL"
	Unavailable        = "UNAVAILABLE"
	// OutcomeUnknown is the code of a repeated request that an earlier daemon may have executed.
	OutcomeUnknown = "OUTCOME_UNKNOWN"
)

var statusOf = map[string]int{
	InvalidArgument:    http.StatusBadRequest,
	Unauthenticated:    http.StatusUnauthorized,
	PermissionDenied:   http.StatusForbidden,
	NotFound:           http.StatusNotFound,
	Conflict:           http.StatusConflict,
	FailedPrecondition: http.StatusPreconditionFailed,
	TooLarge:           http.StatusRequestEntityTooLarge,
	Misdirected:        http.StatusMisdirectedRequest,
	Exhausted:          http.StatusTooManyRequests,
	Internal:           http.StatusInternalServerError,
	Unavailable:        http.StatusServiceUnavailable,
	OutcomeUnknown:     http.StatusConflict,
}

// Error is an error that is sent to the client.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// Refuse returns an error with a code and a message.
func Refuse(code, format string, values ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, values...)}
}

// During returns an error for a failed system call: Cannot <action> "<thing>": <reason>.
func During(action, thing string, err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	return Refuse(codeOf(err), "Cannot %s %q: %v", action, thing, err)
}

func codeOf(err error) string {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, confine.ErrOutside), errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM), errors.Is(err, unix.ELOOP), errors.Is(err, unix.EROFS):
		return PermissionDenied
	case errors.Is(err, unix.ENOENT):
		return NotFound
	case errors.Is(err, unix.EEXIST), errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EBUSY):
		return Conflict
	case errors.Is(err, unix.EISDIR), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENAMETOOLONG):
		return InvalidArgument
	case errors.As(err, &tooLarge):
		return TooLarge
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Unavailable
	}
	return Internal
}

// WriteError sends an error response.
func WriteError(w http.ResponseWriter, err error) {
	var known *Error
	if !errors.As(err, &known) {
		known = Refuse(codeOf(err), "%v", err)
	}
	WriteJSON(w, statusOf[known.Code], known)
}

// WriteJSON sends a JSON response without a trailing line feed.
func WriteJSON(w http.ResponseWriter, status int, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "Cannot encode the response", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// MethodNotAllowed sends a 405 response with the allowed methods, as the standard library does.
func MethodNotAllowed[T any](w http.ResponseWriter, methods map[string]T) {
	w.Header().Set("Allow", strings.Join(slices.Sorted(maps.Keys(methods)), ", "))
	http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
}
