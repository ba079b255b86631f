package rpc

import (
	"context"
	"errors"
	"io"
	"time"

	"connectrpc.com/connect"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
)

type responses = connect.ServerStream[processv1.StartResponse]

// Start implements the service.
func (s *Service) Start(ctx context.Context, request *processv1.StartRequest, stream *responses) error {
	defer s.activity.Begin()()
	spec, err := specOf(request.Config, process.OriginStart)
	if err != nil {
		return err
	}
	spec.Stdin, spec.Detached, spec.Follow = true, request.Detach, true
	if request.Pty != nil {
		spec.PTY = &process.Size{Cols: request.Pty.Cols, Rows: request.Pty.Rows}
	}
	if request.RequestId != "" && !request.Detach {
		return failf(connect.CodeInvalidArgument, "Cannot use request_id: it requires detach")
	}
	abandonAfter, err := abandonOf(request)
	if err != nil {
		return err
	}
	if err := s.refuseLost(ctx, s.processes.Knows(request.RequestId)); err != nil {
		return err
	}
	p, repeated, err := s.processes.StartOnce(request.RequestId, spec)
	if err != nil {
		return startError(err)
	}
	if abandonAfter > 0 && !repeated {
		go p.KillWhenAbandoned(abandonAfter)
	}
	if !request.Detach {
		defer s.processes.Forget(p)
		defer p.KillTreeUnlessEnded()
	}
	if repeated {
		return s.play(ctx, p, p.Log.Read(0, false), stream)
	}
	return s.play(ctx, p, p.First, stream)
}

// abandonOf returns 0 if the process need not be read.
func abandonOf(request *processv1.StartRequest) (time.Duration, error) {
	if request.AbandonAfter == nil {
		return 0, nil
	}
	after := request.AbandonAfter.AsDuration()
	if !request.Detach || request.AbandonAfter.CheckValid() != nil || after <= 0 {
		return 0, failf(connect.CodeInvalidArgument, "Cannot use abandon_after: it requires detach and must be positive")
	}
	return after, nil
}

// Attach implements the service.
func (s *Service) Attach(ctx context.Context, request *processv1.AttachRequest, stream *responses) error {
	defer s.activity.Begin()()
	p, err := s.find(request.ProcessId)
	if err != nil {
		return err
	}
	from, _ := p.Log.Bounds()
	if request.FromOffset != nil {
		from = *request.FromOffset
	}
	return s.play(ctx, p, p.Log.Read(from, request.Backpressure), stream)
}

// play sends the events of a process: init, output, exit.
func (s *Service) play(ctx context.Context, p *process.Process, reader *process.Reader, stream *responses) error {
	defer reader.Close()
	if err := stream.Send(&processv1.StartResponse{
		Event: &processv1.StartResponse_Init{Init: &processv1.InitEvent{ProcessId: p.ID}},
	}); err != nil {
		return err
	}
	beat := beatOf(ctx)
	for {
		piece, err := withBeat(ctx, beat, stream, func(ctx context.Context) (process.Piece, error) { return reader.Next(ctx, s.chunkBytes) })
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := stream.Send(outputEvent(p, piece)); err != nil {
			return err
		}
	}
	// Its output can be closed long before it ends.
	if _, err := withBeat(ctx, beat, stream, func(ctx context.Context) (struct{}, error) { return struct{}{}, untilDone(ctx, p) }); err != nil {
		return err
	}
	return stream.Send(&processv1.StartResponse{Event: &processv1.StartResponse_Exit{Exit: exitEvent(p)}})
}

func untilDone(ctx context.Context, p *process.Process) error {
	select {
	case <-p.Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func outputEvent(p *process.Process, piece process.Piece) *processv1.StartResponse {
	response := &processv1.StartResponse{}
	if p.Detached {
		response.Offset = piece.Next
	}
	switch {
	case piece.Lost > 0:
		response.Event = &processv1.StartResponse_Gap{Gap: &processv1.GapEvent{LostBytes: piece.Lost}}
	case piece.Stream == process.Stderr:
		response.Event = &processv1.StartResponse_Stderr{Stderr: piece.Data}
	default:
		response.Event = &processv1.StartResponse_Stdout{Stdout: piece.Data}
	}
	return response
}
