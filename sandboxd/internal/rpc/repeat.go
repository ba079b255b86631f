package rpc

import (
	"context"

	"connectrpc.com/connect"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/once"
)

// refuseLost refuses a repeated request whose first attempt this daemon cannot know.
func (s *Service) refuseLost(ctx context.Context, known bool) error {
	info, ok := connect.CallInfoForHandlerContext(ctx)
	if known || !ok || !once.MayPrecede(info.RequestHeader(), s.started) {
		return nil
	}
	return failf(connect.CodeAborted, "The sandbox has restarted since the first attempt, which may have been executed")
}
