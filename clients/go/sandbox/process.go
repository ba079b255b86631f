package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"
)

const (
	// defaultKeepRunning is how long a process runs without a connection.
	defaultKeepRunning = 10 * time.Second
	// reconnectTime is how long the router or the box may be away until a stream is given up.
	reconnectTime = time.Minute
)

// Forever lets a process of Start go on until it ends by itself.
const Forever time.Duration = -1

// WithTerminal gives a process of Start a terminal. Its output is then all standard output.
func WithTerminal(cols, rows uint32) CallOption {
	return func(o *callOptions) { o.cols, o.rows = cols, rows }
}

// WithKeepRunning sets how long a process of Start runs without a connection before it is killed. Default: ten seconds, so that it
// ends with this program.
func WithKeepRunning(d time.Duration) CallOption {
	return func(o *callOptions) { o.keepRunning = d }
}

// Exit is how a process ended.
type Exit struct {
	// ExitCode is -1 if a signal ended the process.
	ExitCode int
	Signal   int
	TimedOut bool
}

// Piece is a piece of output.
type Piece struct {
	Stderr bool
	Data   []byte
}

// Process is a process in a sandbox. Its output continues after a lost connection, without a gap unless more than 256 KiB were
// written in the meantime.
type Process struct {
	handle
	// ID is unique in the sandbox.
	ID     int
	opened chan event
	closed context.CancelCauseFunc
	failed chan error
	offset uint64
	exit   *Exit
}

type event struct {
	Init   *struct{ ProcessID int }
	Stdout []byte
	Stderr []byte
	Exit   *exitMessage
	Offset string
}

// Start starts a script and returns while it runs. WithTimeout limits its life.
func (c *Commands) Start(ctx context.Context, script string, options ...CallOption) (*Process, error) {
	return c.start(ctx, script, nil, optionsOf(options))
}

// StartArgs is like Start for a program with arguments, which no shell sees.
func (c *Commands) StartArgs(ctx context.Context, argv []string, options ...CallOption) (*Process, error) {
	return c.start(ctx, "", argv, optionsOf(options))
}

func (c *Commands) start(ctx context.Context, script string, argv []string, o callOptions) (*Process, error) {
	config, doing, err := configOf(script, argv, o)
	if err != nil {
		return nil, err
	}
	message := map[string]any{"config": config, "detach": true, "requestId": newRequestID()}
	if o.cols > 0 {
		message["pty"] = map[string]uint32{"cols": o.cols, "rows": o.rows}
	}
	if o.keepRunning == 0 {
		o.keepRunning = defaultKeepRunning
	}
	if o.keepRunning > 0 {
		message["abandonAfter"] = duration(o.keepRunning)
	}
	return c.open(ctx, doing, "Start", message)
}

// Attach connects to a process that Start has started, also from another program. Its kept output (256 KiB) is sent again.
func (c *Commands) Attach(ctx context.Context, id int) (*Process, error) {
	return c.open(ctx, fmt.Sprintf("Cannot attach to process %d", id), "Attach", map[string]any{"processId": id})
}

// ProcessInfo describes a process.
type ProcessInfo struct {
	ID        int       `json:"processId"`
	PID       int       `json:"pid"`
	Command   []string  `json:"command"`
	Cwd       string    `json:"cwd"`
	StartedAt time.Time `json:"startedAt"`
	// Exit is nil while the process runs.
	Exit *Exit `json:"exit"`
}

// List returns the running processes, and those of Start that have ended recently.
func (c *Commands) List(ctx context.Context) ([]ProcessInfo, error) {
	doing := "Cannot list the processes"
	ctx, cancel := limit(ctx, defaultTimeout, doing)
	defer cancel()
	var found struct{ Processes []ProcessInfo }
	err := c.operate(ctx, operation{name: "list_processes"}, func(ctx context.Context) error {
		return c.unary(ctx, attempt{doing: doing, repeatable: true}, "List", map[string]any{}, &found)
	})
	return found.Processes, err
}

func (c *Commands) open(ctx context.Context, doing, method string, message any) (p *Process, err error) {
	err = c.operate(ctx, operation{name: strings.ToLower(method)}, func(ctx context.Context) error {
		p, err = c.openStream(ctx, doing, method, message)
		return err
	})
	return p, err
}

func (c *Commands) openStream(ctx context.Context, doing, method string, message any) (*Process, error) {
	// The stream outlives this call.
	streaming, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	p := &Process{handle: c.handle, opened: make(chan event), failed: make(chan error, 1), closed: cancel}
	p.follow(streaming, doing, method, message)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	defer stop()
	first, err := p.next(streaming)
	if err != nil {
		cancel(errDisconnected)
		return nil, err
	}
	if first == nil || first.Init == nil {
		cancel(errDisconnected)
		return nil, failf(Internal, "%s: the sandbox sent no process id", doing)
	}
	p.ID = first.Init.ProcessID
	return p, nil
}

// follow reads a stream until it ends or the connection is lost.
func (p *Process) follow(ctx context.Context, doing, method string, message any) {
	events, failed := make(chan event), make(chan error, 1)
	p.opened, p.failed = events, failed
	go func() {
		failed <- p.stream(ctx, attempt{doing: doing, repeatable: true}, method, message, func(content []byte) error {
			var next event
			if err := json.Unmarshal(content, &next); err != nil {
				return &Error{Reason: Internal, Message: doing + ": " + err.Error(), cause: err}
			}
			select {
			case events <- next:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
		close(events)
	}()
}

// next returns nil at the end of the stream.
func (p *Process) next(ctx context.Context) (*event, error) {
	select {
	case next, ok := <-p.opened:
		if ok {
			return &next, nil
		}
		return nil, <-p.failed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Output returns the output until the process ends. It can be iterated once.
func (p *Process) Output(ctx context.Context) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		for {
			next, err := p.next(ctx)
			if err != nil {
				if err = p.reattach(ctx, err); err == nil {
					continue
				}
				yield(Piece{}, err)
				return
			}
			if next == nil {
				return
			}
			if offset, err := strconv.ParseUint(next.Offset, 10, 64); err == nil {
				p.offset = offset
			}
			if next.Exit != nil {
				p.exit = &Exit{ExitCode: next.Exit.ExitCode, Signal: next.Exit.Signal, TimedOut: next.Exit.TimedOut}
			}
			if len(next.Stdout) > 0 && !yield(Piece{Data: next.Stdout}, nil) {
				return
			}
			if len(next.Stderr) > 0 && !yield(Piece{Stderr: true, Data: next.Stderr}, nil) {
				return
			}
		}
	}
}

// reattach opens the stream again if its connection was lost.
func (p *Process) reattach(ctx context.Context, err error) error {
	if failure, ok := err.(*Error); !ok || !failure.transient {
		return err
	}
	streaming, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	p.closed = cancel
	doing := fmt.Sprintf("Cannot read the output of process %d", p.ID)
	p.follow(streaming, doing, "Attach", map[string]any{"processId": p.ID, "fromOffset": strconv.FormatUint(p.offset, 10)})
	waiting, stop := limit(ctx, reconnectTime, doing)
	defer stop()
	first, err := p.next(waiting)
	if err == nil && (first == nil || first.Init == nil) {
		err = failf(Internal, "%s: the sandbox sent no process id", doing)
	}
	return err
}

// Wait waits until the process has ended.
func (p *Process) Wait(ctx context.Context) (*Exit, error) {
	if p.exit != nil {
		return p.exit, nil
	}
	var response struct{ Exit exitMessage }
	about := attempt{doing: fmt.Sprintf("Cannot wait for process %d", p.ID), repeatable: true}
	if err := p.unary(ctx, about, "Wait", map[string]any{"processId": p.ID}, &response); err != nil {
		return nil, err
	}
	p.exit = &Exit{ExitCode: response.Exit.ExitCode, Signal: response.Exit.Signal, TimedOut: response.Exit.TimedOut}
	return p.exit, nil
}

// Write writes to the standard input. It is repeated after a lost connection only if the sandbox has not received it.
func (p *Process) Write(ctx context.Context, data []byte) error {
	return p.tell(ctx, "WriteStdin", map[string]any{"input": data}, false)
}

// CloseInput closes the standard input. On a terminal, this types the end-of-transmission character.
func (p *Process) CloseInput(ctx context.Context) error {
	return p.tell(ctx, "WriteStdin", map[string]any{"eof": map[string]any{}}, false)
}

// Signal sends a signal, such as "SIGTERM", to the process and all its descendants.
func (p *Process) Signal(ctx context.Context, name string) error {
	return p.tell(ctx, "SendSignal", map[string]any{"signal": "SIGNAL_" + name, "scope": "SIGNAL_SCOPE_TREE"}, name == "SIGKILL")
}

// Resize changes the size of the terminal.
func (p *Process) Resize(ctx context.Context, cols, rows uint32) error {
	return p.tell(ctx, "ResizeTTY", map[string]any{"cols": cols, "rows": rows}, true)
}

// Close ends the stream of output. The process goes on as WithKeepRunning says.
func (p *Process) Close() { p.closed(errDisconnected) }

func (p *Process) tell(ctx context.Context, method string, message map[string]any, repeatable bool) error {
	about := attempt{doing: fmt.Sprintf("Cannot reach process %d", p.ID), repeatable: repeatable}
	ctx, cancel := limit(ctx, defaultTimeout, about.doing)
	defer cancel()
	message["processId"] = p.ID
	var nothing struct{}
	return p.unary(ctx, about, method, message, &nothing)
}
