// Package rpc serves process.v1.ProcessService.
package rpc

import (
	"context"
	"errors"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/activity"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/once"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
)

// Service implements process.v1.ProcessService.
type Service struct {
	processes  *process.Manager
	activity   *activity.Tracker
	chunkBytes int
	executed   once.Calls[executed]
	started    time.Time
}

// New returns the service. An output event has at most chunkBytes.
func New(processes *process.Manager, tracker *activity.Tracker, chunkBytes int) *Service {
	return &Service{
		processes:  processes,
		activity:   tracker,
		chunkBytes: chunkBytes,
		executed:   once.Calls[executed]{Cost: executed.cost},
		started:    time.Now(),
	}
}

func (s *Service) find(id int32) (*process.Process, error) {
	p, ok := s.processes.Get(id)
	if !ok {
		return nil, failf(connect.CodeNotFound, "process %d not found", id)
	}
	return p, nil
}

// WriteStdin implements the service.
func (s *Service) WriteStdin(ctx context.Context, request *processv1.WriteStdinRequest) (*processv1.WriteStdinResponse, error) {
	s.activity.Touch()
	p, err := s.find(request.ProcessId)
	if err != nil {
		return nil, err
	}
	switch payload := request.Payload.(type) {
	case *processv1.WriteStdinRequest_Input:
		err = p.WriteStdin(ctx, payload.Input)
	case *processv1.WriteStdinRequest_Eof:
		err = p.CloseStdin(ctx)
	}
	switch {
	case err == nil:
		return &processv1.WriteStdinResponse{}, nil
	case errors.Is(err, process.ErrNoStdin):
		return nil, failf(connect.CodeFailedPrecondition, "Cannot write to process %d: %v", request.ProcessId, err)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, failf(connect.CodeInternal, "Cannot write to process %d: %v", request.ProcessId, err)
}

// ResizeTTY implements the service.
func (s *Service) ResizeTTY(_ context.Context, request *processv1.ResizeTTYRequest) (*processv1.ResizeTTYResponse, error) {
	s.activity.Touch()
	p, err := s.find(request.ProcessId)
	if err != nil {
		return nil, err
	}
	if err := p.Resize(process.Size{Cols: request.Cols, Rows: request.Rows}); err != nil {
		return nil, failf(connect.CodeFailedPrecondition, "Cannot resize process %d: %v", request.ProcessId, err)
	}
	return &processv1.ResizeTTYResponse{}, nil
}

// Wait implements the service.
func (s *Service) Wait(ctx context.Context, request *processv1.WaitRequest) (*processv1.WaitResponse, error) {
	defer s.activity.Begin()()
	p, err := s.find(request.ProcessId)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.Done():
		return &processv1.WaitResponse{Exit: exitEvent(p)}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// List implements the service.
func (s *Service) List(context.Context, *processv1.ListRequest) (*processv1.ListResponse, error) {
	response := &processv1.ListResponse{}
	for _, p := range s.processes.List() {
		if !p.Listed() {
			continue
		}
		first, next := p.Log.Bounds()
		info := &processv1.ProcessInfo{
			ProcessId: p.ID, Pid: int32(p.Pid), Command: p.Argv, Cwd: p.Cwd, Pty: p.HasPTY(), Detached: p.Detached,
			Origin: p.Origin, StartedAt: timestamppb.New(p.StartedAt), FirstOffset: first, NextOffset: next,
			Streams: uint32(p.Log.Readers()),
		}
		if !p.Running() {
			_, ended := p.Exit()
			info.Exit, info.EndedAt = exitEvent(p), timestamppb.New(ended)
		}
		response.Processes = append(response.Processes, info)
	}
	return response, nil
}

func exitEvent(p *process.Process) *processv1.ExitEvent {
	exit, _ := p.Exit()
	event := &processv1.ExitEvent{
		ExitCode: int32(exit.Code), TimedOut: exit.TimedOut, DescendantsRunning: exit.DescendantsRunning,
	}
	if exit.Signal != 0 {
		signal := int32(exit.Signal)
		event.Signal = &signal
	}
	return event
}
