package rpc

import (
	"context"
	"syscall"

	"connectrpc.com/connect"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
)

// SendSignal implements the service. Signals to a process that has ended are ignored.
func (s *Service) SendSignal(_ context.Context, request *processv1.SendSignalRequest) (*processv1.SendSignalResponse, error) {
	s.activity.Touch()
	p, err := s.find(request.ProcessId)
	if err != nil {
		return nil, err
	}
	name, known := processv1.Signal_name[int32(request.Signal)]
	if !known || request.Signal == processv1.Signal_SIGNAL_UNSPECIFIED {
		return nil, failf(connect.CodeInvalidArgument, "Cannot send signal %d: it is not a value of the enumeration", request.Signal)
	}
	signal := syscall.Signal(request.Signal)
	switch request.Scope {
	case processv1.SignalScope_SIGNAL_SCOPE_UNSPECIFIED:
		p.SignalGroup(signal)
	case processv1.SignalScope_SIGNAL_SCOPE_PROCESS:
		p.Signal(signal)
	case processv1.SignalScope_SIGNAL_SCOPE_TREE:
		if signal == syscall.SIGKILL {
			p.KillTree()
		} else {
			p.SignalTree(signal)
		}
	default:
		return nil, failf(connect.CodeInvalidArgument, "Cannot send %s: unknown scope %d", name, request.Scope)
	}
	return &processv1.SendSignalResponse{}, nil
}
