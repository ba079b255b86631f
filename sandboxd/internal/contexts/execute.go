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

// interruptGrace is how long an interpreter has to come back from an interrupt before it is ended.
const interruptGrace = 2 * time.Second

// Event is something that happened while code ran: "stdout" and "stderr" with text, "result" and "display" with data
// by media type, "error", and as the last one "end".
type Event struct {
	Type           string         `json:"type"`
	Text           string         `json:"text,omitempty"`
	Data           map[string]any `json:"data,omitempty"`
	Name           string         `json:"name,omitempty"`
	Message        string         `json:"message,omitempty"`
	Traceback      string         `json:"traceback,omitempty"`
	ExecutionCount int            `json:"execution_count,omitempty"`
}

// ErrEnded says that the interpreter is gone, and what the code before had defined with it.
var ErrEnded = errors.New("the context has ended")

// Execute runs code and passes on what happens, in order, from one goroutine at a time. When the time is up or the
// caller has gone, the code is interrupted; an interpreter that does not come back is ended.
func (m *Manager) Execute(ctx context.Context, c *Context, code string, timeout time.Duration, emit func(Event) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
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
	run := &execution{context: c, emit: emit, reader: c.process.Log.Read(from, true), emitted: from, changed: make(chan struct{})}
	defer run.reader.Close()
	request, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { c.interrupt(run) })
	defer stop()
	reading, stopReading := context.WithCancel(context.WithoutCancel(ctx))
	output := make(chan struct{})
	go func() {
		defer close(output)
		run.pumpOutput(reading)
	}()
	defer func() {
		stopReading()
		<-output
	}()
	if _, err := c.requests.Write(append(request, '\n')); err != nil {
		return ErrEnded
	}
	return run.follow(ctx)
}

var errTimeout = errors.New("the time is up")

func (m *Manager) count(change int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running += change
}

// interrupt asks the code to stop; Ctrl-C would reach what it started, too.
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
	// changed is closed and replaced when emitted or over change.
	changed chan struct{}
}

const ended = ^uint64(0)

// changedTo is closed when the output has been passed on up to a place, or with ended when the call is over.
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

// follow passes the driver's events on, each after the output that was written before it.
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
		e.update(func() { e.send(event) })
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

func (e *execution) pumpOutput(ctx context.Context) {
	var partial [2][]byte
	for {
		piece, err := e.reader.Next(ctx, 64<<10)
		if err != nil {
			e.update(func() { e.emitted = ended - 1 })
			return
		}
		text := wholeText(&partial[piece.Stream], piece.Data)
		kind := "stdout"
		if piece.Stream == process.Stderr {
			kind = "stderr"
		}
		e.update(func() {
			if text != "" {
				e.send(Event{Type: kind, Text: text})
			}
			e.emitted = piece.Next
		})
	}
}

// wholeText joins what was left over with new bytes, and leaves a character that is not complete for the next time.
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
