package contexts

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
)

// interruptGrace is how long an interpreter may take to handle an interrupt before it is killed.
const interruptGrace = 2 * time.Second

// Event is an event of running code: "stdout" and "stderr" with text, "result" and "display" with data by media type,
// "error", and finally "end".
type Event struct {
	Type           string         `json:"type"`
	Text           string         `json:"text,omitempty"`
	Data           map[string]any `json:"data,omitempty"`
	Name           string         `json:"name,omitempty"`
	Message        string         `json:"message,omitempty"`
	Traceback      string         `json:"traceback,omitempty"`
	ExecutionCount int            `json:"execution_count,omitempty"`
}

// ErrEnded is returned if the interpreter has ended. Its state is lost.
var ErrEnded = errors.New("the context has ended")

// Run is code to run. Its variables are set in the environment while it runs.
type Run struct {
	Code    string            `json:"code"`
	Env     map[string]string `json:"env,omitempty"`
	Timeout time.Duration     `json:"-"`
}

// Execute runs code and emits its events in order, from one goroutine at a time. On a timeout or when the client
// disconnects, the code is interrupted. If the interpreter does not handle the interrupt, it is killed.
func (m *Manager) Execute(ctx context.Context, c *Context, run Run, emit func(Event) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, run.Timeout, errTimeout)
	defer cancel()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-c.process.Done():
		return ErrEnded
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	m.count(1)
	defer m.count(-1)
	_, from := c.process.Log.Bounds()
	call := &execution{context: c, emit: emit, reader: c.process.Log.Read(from, true), emitted: from, changed: make(chan struct{})}
	defer call.reader.Close()
	request, err := json.Marshal(run)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { c.interrupt(call) })
	defer stop()
	reading, stopReading := context.WithCancel(context.WithoutCancel(ctx))
	output := make(chan struct{})
	go func() {
		defer close(output)
		call.pumpOutput(reading)
	}()
	defer func() {
		stopReading()
		<-output
	}()
	if _, err := c.requests.Write(append(request, '\n')); err != nil {
		return ErrEnded
	}
	return call.follow(ctx)
}

var errTimeout = errors.New("the timeout has expired")

func (m *Manager) count(change int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running += change
}

// interrupt interrupts the code but not the processes that it started, unlike Ctrl-C.
func (c *Context) interrupt(run *execution) {
	c.process.SignalGroup(syscall.SIGINT)
	select {
	case <-run.changedTo(ended):
	case <-time.After(interruptGrace):
		c.process.KillTree()
	}
}

type execution struct {
	context *Context
	reader  *process.Reader

	mu sync.Mutex
	// emit is called with mu held.
	emit    func(Event) error
	failed  error
	emitted uint64
	over    bool
	// partial is the incomplete character at the end of the output of each stream.
	partial [2][]byte
	// changed is closed and replaced when emitted or over change.
	changed chan struct{}
}

const ended = ^uint64(0)

// changedTo returns a channel that is closed when the output has been emitted up to an offset, or when the call is over.
func (e *execution) changedTo(place uint64) <-chan struct{} {
	reached := make(chan struct{})
	go func() {
		defer close(reached)
		for {
			e.mu.Lock()
			done := e.over || (place != ended && e.emitted >= place)
			changed := e.changed
			e.mu.Unlock()
			if done {
				return
			}
			<-changed
		}
	}()
	return reached
}

func (e *execution) update(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
	close(e.changed)
	e.changed = make(chan struct{})
}

func (e *execution) send(event Event) {
	if e.failed == nil {
		e.failed = e.emit(event)
	}
}

// follow emits the driver's events, each after the output that was written before it.
func (e *execution) follow(ctx context.Context) error {
	defer e.update(func() { e.over = true })
	for {
		event, err := e.context.readEvent()
		if err != nil {
			e.context.process.KillTree()
			<-e.context.process.Done()
			return e.lost(ctx)
		}
		_ = e.context.process.Flushed(context.Background())
		_, written := e.context.process.Log.Bounds()
		<-e.changedTo(written)
		if event.Type == "error" && ctx.Err() != nil {
			event.Name, event.Message = "TimeoutError", context.Cause(ctx).Error()
		}
		e.update(func() {
			if event.Type == "end" {
				e.sendPartial()
			}
			e.send(event)
		})
		if event.Type == "end" {
			return nil
		}
	}
}

func (e *execution) lost(ctx context.Context) error {
	if ctx.Err() != nil {
		return errors.Join(ErrEnded, context.Cause(ctx))
	}
	return ErrEnded
}

// sendPartial emits characters that the code did not complete, as replacement characters.
func (e *execution) sendPartial() {
	for stream, data := range e.partial {
		if len(data) > 0 {
			e.send(Event{Type: kindOf(process.Stream(stream)), Text: string(data)})
		}
	}
}

func kindOf(stream process.Stream) string {
	if stream == process.Stderr {
		return "stderr"
	}
	return "stdout"
}

func (e *execution) pumpOutput(ctx context.Context) {
	for {
		piece, err := e.reader.Next(ctx, 64<<10)
		if err != nil {
			e.update(func() { e.emitted = ended - 1 })
			return
		}
		e.update(func() {
			if text := wholeText(&e.partial[piece.Stream], piece.Data); text != "" {
				e.send(Event{Type: kindOf(piece.Stream), Text: text})
			}
			e.emitted = piece.Next
		})
	}
}

// wholeText appends data to the rest of the last call and returns complete characters. An incomplete one becomes the rest.
func wholeText(left *[]byte, data []byte) string {
	data = append(*left, data...)
	cut := len(data)
	for back := 1; back < utf8.UTFMax && back <= len(data); back++ {
		if start := data[len(data)-back]; utf8.RuneStart(start) {
			if !utf8.FullRune(data[len(data)-back:]) {
				cut = len(data) - back
			}
			break
		}
	}
	*left = append([]byte(nil), data[cut:]...)
	return string(data[:cut])
}
