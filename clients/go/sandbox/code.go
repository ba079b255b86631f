package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// CodeError is an exception of code. It is a result, not an error of the call.
type CodeError struct{ Name, Message, Traceback string }

// CodeResult is what code left.
type CodeResult struct {
	Stdout, Stderr string
	// Results are the value of the last expression and what the code displayed, by media type.
	Results []map[string]any
	// Text of the last result.
	Text string
	// Error is nil if the code raised none.
	Error *CodeError
}

// CodeContext is an interpreter that keeps its variables between calls.
type CodeContext struct {
	handle
	ID, Language string
}

// CreateContext starts an interpreter: "python" or "javascript".
func (s *Sandbox) CreateContext(ctx context.Context, language string) (*CodeContext, error) {
	created := &CodeContext{handle: s.handle, Language: language}
	doing := "Cannot start " + language
	ctx, cancel := limit(ctx, defaultTimeout, doing)
	defer cancel()
	return created, s.operate(ctx, operation{name: "create_context"}, func(ctx context.Context) error {
		call := restCall{doing: doing, method: http.MethodPost, path: "/contexts"}
		return s.json(ctx, call, map[string]string{"language": language}, created)
	})
}

// Run runs code. When the context ends, or after the timeout (default: one minute), the code is interrupted.
func (c *CodeContext) Run(ctx context.Context, code string, options ...CallOption) (result *CodeResult, err error) {
	err = c.operate(ctx, operation{name: "run_code", limited: true, limitsItself: true}, func(ctx context.Context) error {
		result, err = c.run(ctx, code, optionsOf(options))
		return err
	})
	return result, err
}

func (c *CodeContext) run(ctx context.Context, code string, o callOptions) (*CodeResult, error) {
	if o.timeout == 0 {
		o.timeout = defaultTimeout
	}
	doing := "Cannot run the code"
	ctx, cancel := limit(ctx, o.timeout+grace, doing)
	defer cancel()
	body, err := json.Marshal(map[string]any{"code": code, "timeout_seconds": o.timeout.Seconds()})
	if err != nil {
		return nil, err
	}
	response, err := c.rest(ctx, restCall{
		doing: doing, method: http.MethodPost, path: "/contexts/" + url.PathEscape(c.ID) + "/execute", query: url.Values{"stream": {"true"}, "keepalive": {keepAliveSeconds}},
		body: body, header: map[string]string{"Content-Type": "application/json"}, unrepeatable: true,
	})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	result := &CodeResult{}
	lines := bufio.NewReader(response.Body)
	isComplete := false
	for {
		line, err := lines.ReadBytes('\n')
		if isComplete && errors.Is(err, io.EOF) {
			return result, nil
		}
		if err != nil {
			return result, ended(ctx, failf(OutcomeUnknown, "%s: the connection was lost: %v", doing, err))
		}
		isLast, err := result.add(line, o)
		if err != nil {
			return nil, failf(Internal, "%s: %v", doing, err)
		}
		isComplete = isComplete || isLast
	}
}

// Close ends the interpreter and everything it started.
func (c *CodeContext) Close(ctx context.Context) error {
	ctx, cancel := limit(ctx, defaultTimeout, "Cannot end the context")
	defer cancel()
	return c.operate(ctx, operation{name: "close_context"}, func(ctx context.Context) error {
		return c.json(ctx, restCall{doing: fmt.Sprintf("Cannot end context %q", c.ID), method: http.MethodDelete, path: "/contexts/" + url.PathEscape(c.ID)}, nil, nil)
	})
}

// add reports whether the result is complete after this line.
func (r *CodeResult) add(line []byte, o callOptions) (isLast bool, err error) {
	var event struct {
		Type, Text               string
		Data                     map[string]any
		Name, Message, Traceback string
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return false, err
	}
	switch event.Type {
	case "stdout":
		r.Stdout += event.Text
		orIgnore(o.stdout)(event.Text)
	case "stderr":
		r.Stderr += event.Text
		orIgnore(o.stderr)(event.Text)
	case "result", "display":
		r.Results = append(r.Results, event.Data)
		r.Text, _ = event.Data["text/plain"].(string)
	case "error":
		r.Error = &CodeError{Name: event.Name, Message: event.Message, Traceback: event.Traceback}
		// The interpreter has ended, and the result is what it left. Older servers send nothing after this.
		return event.Name == "ContextEnded", nil
	}
	return event.Type == "end", nil
}

// RunCode runs Python code in a context that lasts as long as this handle. Variables are kept between calls. If the context is gone, for
// example because the sandbox was restarted, the call fails with NotFound, and the next one starts a new context.
func (s *Sandbox) RunCode(ctx context.Context, code string, options ...CallOption) (*CodeResult, error) {
	s.codeMu.Lock()
	defer s.codeMu.Unlock()
	if s.code == nil {
		created, err := s.CreateContext(ctx, "python")
		if err != nil {
			return nil, err
		}
		s.code = created
	}
	result, err := s.code.Run(ctx, code, options...)
	if IsReason(err, NotFound) {
		s.code = nil
	}
	return result, err
}

// Usage is what a sandbox uses.
type Usage struct {
	CPUSeconds  float64
	MemoryBytes int64
	Processes   int
	DiskBytes   int64
}

// Usage returns what the sandbox uses now.
func (s *Sandbox) Usage(ctx context.Context) (*Usage, error) {
	var wire struct {
		CPU struct {
			Used float64 `json:"used_seconds"`
		}
		Memory struct {
			Used int64 `json:"used_bytes"`
		}
		Processes struct{ Count int }
		Disk      struct {
			Used int64 `json:"used_bytes"`
		}
	}
	doing := fmt.Sprintf("Cannot measure sandbox %q", s.Name)
	ctx, cancel := limit(ctx, defaultTimeout, doing)
	defer cancel()
	err := s.operate(ctx, operation{name: "usage"}, func(ctx context.Context) error {
		return s.json(ctx, restCall{doing: doing, method: http.MethodGet, path: "/usage"}, nil, &wire)
	})
	return &Usage{CPUSeconds: wire.CPU.Used, MemoryBytes: wire.Memory.Used, Processes: wire.Processes.Count, DiskBytes: wire.Disk.Used}, err
}
