package rpc

import (
	"errors"
	"fmt"

	"connectrpc.com/connect"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
)

func failf(code connect.Code, format string, values ...any) error {
	return connect.NewError(code, fmt.Errorf(format, values...))
}

var codeOf = map[process.Kind]connect.Code{
	process.Internal:  connect.CodeInternal,
	process.Invalid:   connect.CodeInvalidArgument,
	process.NotFound:  connect.CodeNotFound,
	process.Denied:    connect.CodePermissionDenied,
	process.Exhausted: connect.CodeResourceExhausted,
}

func startError(err error) error {
	var known *process.StartError
	if errors.As(err, &known) {
		return connect.NewError(codeOf[known.Kind], known)
	}
	return connect.NewError(connect.CodeInternal, err)
}
