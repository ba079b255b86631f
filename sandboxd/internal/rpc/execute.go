package rpc

import (
	"context"
	"crypto/sha256"
	"errors"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
)

// maxOutputBytes is the limit of the output that one call collects in memory.
const maxOutputBytes = 64 << 20

type executed struct {
	response *processv1.ExecuteResponse
	err      error
}

func (e executed) cost() int { return len(e.response.GetStdout()) + len(e.response.GetStderr()) }

// Execute implements the service.
func (s *Service) Execute(ctx context.Context, request *processv1.ExecuteRequest) (*processv1.ExecuteResponse, error) {
	defer s.activity.Begin()()
	spec, err := specOf(request.Config, process.OriginExecute)
	if err != nil {
		return nil, err
	}
	if request.MaxOutputBytes > maxOutputBytes {
		return nil, failf(connect.CodeInvalidArgument, "Cannot collect %d bytes: the most is %d; use Start", request.MaxOutputBytes, maxOutputBytes)
	}
	key := requestKey(request)
	if err := s.refuseLost(ctx, s.executed.Knows(key)); err != nil {
		return nil, err
	}
	result, err := s.executed.Do(ctx, key, func(ctx context.Context) executed {
		response, err := s.run(ctx, spec, request)
		return executed{response, err}
	})
	if err != nil {
		return nil, err
	}
	return result.response, result.err
}

// requestKey includes the content of the request, so that an id that is reused for another call does not return its result.
func requestKey(request *processv1.ExecuteRequest) string {
	if request.RequestId == "" {
		return ""
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return ""
	}
	digest := sha256.Sum256(encoded)
	return request.RequestId + "\x00" + string(digest[:])
}

func (s *Service) run(ctx context.Context, spec process.Spec, request *processv1.ExecuteRequest) (*processv1.ExecuteResponse, error) {
	spec.Stdin, spec.Follow = len(request.Stdin) > 0, true
	p, err := s.processes.Start(spec)
	if err != nil {
		return nil, startError(err)
	}
	defer s.processes.Forget(p)
	defer p.KillTreeUnlessEnded()
	defer p.First.Close()
	if spec.Stdin {
		feeding, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			// A process need not read all of its input.
			_ = p.WriteStdin(feeding, request.Stdin)
			_ = p.CloseStdin(feeding)
		}()
	}
	limit, strict := request.MaxOutputBytes, request.MaxOutputBytes == 0
	if strict {
		limit = maxOutputBytes
	}
	output, err := process.Collect(ctx, p.First, int(limit), strict)
	if errors.Is(err, process.ErrTooMuch) {
		return nil, failf(connect.CodeResourceExhausted, "Cannot collect the output of %q: more than %d bytes; use Start, or set max_output_bytes", p.Argv[0], limit)
	}
	if err != nil {
		return nil, err
	}
	<-p.Done()
	exit := exitEvent(p)
	return &processv1.ExecuteResponse{
		ExitCode: exit.ExitCode, Stdout: output.Stdout, Stderr: output.Stderr, Signal: exit.Signal,
		TimedOut: exit.TimedOut, DescendantsRunning: exit.DescendantsRunning, Truncated: output.Truncated,
	}, nil
}
