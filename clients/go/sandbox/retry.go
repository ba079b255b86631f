package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	firstPause   = 50 * time.Millisecond
	longestPause = 2 * time.Second
)

// attempt is what a call needs to know to be repeated.
type attempt struct {
	// doing is the beginning of the error message, for example "Cannot run the command".
	doing string
	// repeatable calls have the same effect if they are sent twice: they only read, or describe the final state, or the server
	// recognises their request id. Others are repeated only if the server has certainly not received them.
	repeatable bool
}

// retry repeats a call until it succeeds, fails for good, or its context ends. Then the last failure is returned.
func retry[T any](ctx context.Context, about attempt, call func(number int) (T, error)) (T, error) {
	for number := 1; ; number++ {
		value, err := call(number)
		if err == nil {
			return value, nil
		}
		var failure *Error
		if !errors.As(err, &failure) || !failure.transient || ctx.Err() != nil {
			return value, ended(ctx, err)
		}
		if failure.sent && !about.repeatable {
			unknown := *failure
			unknown.Reason = OutcomeUnknown
			unknown.Message = fmt.Sprintf("%s: the connection was lost, and it is not known whether the call had an effect (%s)", about.doing, failure.Message)
			return value, &unknown
		}
		pause := min(longestPause, firstPause<<min(number-1, 10))
		pause = pause/2 + rand.N(pause/2)
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause {
			return value, failure
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return value, ended(ctx, failure)
		}
	}
}

// ended returns the error of a call whose context has ended, or the error itself.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// limit applies the timeout of a call. The context then ends with an Error.
func limit(ctx context.Context, timeout time.Duration, doing string) (context.Context, context.CancelFunc) {
	cause := failf(TimedOut, "%s: it took longer than %v", doing, timeout)
	return context.WithTimeoutCause(ctx, timeout, cause)
}
