package process

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

// Kind classifies why a process could not be started.
type Kind uint8

const (
	Internal Kind = iota
	Invalid
	NotFound
	Denied
	// Exhausted: too many processes; the same call may succeed later.
	Exhausted
)

// StartError is the reason why a process could not be started. Its message is sent to API clients.
type StartError struct {
	Kind  Kind
	text  string
	cause error
}

func (e *StartError) Error() string { return e.text }
func (e *StartError) Unwrap() error { return e.cause }

func refuse(kind Kind, format string, values ...any) *StartError {
	return &StartError{Kind: kind, text: fmt.Sprintf(format, values...)}
}

// startFailure makes a StartError of the errno of one step.
func startFailure(what, thing string, err error) *StartError {
	failure := refuse(kindOf(err), "Cannot %s %q: %v", what, thing, err)
	failure.cause = err
	return failure
}

func kindOf(err error) Kind {
	switch {
	case errors.Is(err, confine.ErrOutside), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return Denied
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTDIR):
		return NotFound
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.E2BIG), errors.Is(err, syscall.ENAMETOOLONG):
		return Invalid
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return Exhausted
	}
	return Internal
}
