package rpc

import (
	"context"
	"errors"
	"strconv"
	"time"

	"connectrpc.com/connect"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
)

// beatHeader is the number of seconds without an event after which a client wants an empty one: proxies end streams that are silent.
const beatHeader = "Keepalive-Ping-Interval"

var errQuiet = errors.New("nothing happened")

// beatOf returns 0 if the client does not want empty events.
func beatOf(ctx context.Context) time.Duration {
	info, ok := connect.CallInfoForHandlerContext(ctx)
	if !ok {
		return 0
	}
	seconds, err := strconv.ParseUint(info.RequestHeader().Get(beatHeader), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// withBeat waits for something, and sends an empty event whenever that takes longer than beat.
func withBeat[T any](ctx context.Context, beat time.Duration, stream *responses, next func(context.Context) (T, error)) (T, error) {
	if beat <= 0 {
		return next(ctx)
	}
	for {
		waiting, cancel := context.WithTimeoutCause(ctx, beat, errQuiet)
		found, err := next(waiting)
		cancel()
		if !errors.Is(err, errQuiet) {
			return found, err
		}
		if err := stream.Send(&processv1.StartResponse{}); err != nil {
			return found, err
		}
	}
}
