package process

import (
	"context"
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/reaper"
)

const (
	// drainQuiet is how long output must be silent after the process ended before somebody else's hold on it is
	// no longer waited for; drainMost is the end of waiting even when it is not silent.
	drainQuiet = 100 * time.Millisecond
	drainMost  = 5 * time.Second
)

// ErrNoTerminal says that a process has no terminal, or no longer.
var ErrNoTerminal = errors.New("the process has no terminal")

// Exit says how a process ended.
type Exit struct {
	// Code is the exit status, -1 after a signal.
	Code int
	// Signal ended the process; 0 when it exited by itself.
	Signal syscall.Signal
	// TimedOut says that its time was up and the tree was killed.
	TimedOut bool
	// DescendantsRunning says that something else still holds its output open.
	DescendantsRunning bool
}

// Process is one that this daemon started.
type Process struct {
	ID        int32
	Pid       int
	Argv      []string
	Cwd       string
	Origin    string
	Detached  bool
	StartedAt time.Time
	Log       *Log
	// First is the reader that Spec.Follow asked for; whoever started the process closes it.
	First *Reader

	child    *reaper.Child
	marker   string
	input    *stdin
	pty      *os.File
	pumps    []*pump
	timedOut atomic.Bool

	done    chan struct{}
	exit    Exit
	endedAt time.Time
}

// Done is closed when the process has ended and its output is in the log.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running tells whether Done is still open.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Exit says how and when the process ended. Only after Done.
func (p *Process) Exit() (Exit, time.Time) { return p.exit, p.endedAt }

// HasPTY tells whether the process has a terminal.
func (p *Process) HasPTY() bool { return p.pty != nil }

// Signal sends to the process alone; nothing happens when it has ended.
func (p *Process) Signal(signal syscall.Signal) { p.child.Signal(signal) }

// SignalGroup sends to the process group; nothing happens when the process has ended.
func (p *Process) SignalGroup(signal syscall.Signal) { p.child.SignalGroup(signal) }

// WriteStdin blocks until the process has room for the data.
func (p *Process) WriteStdin(ctx context.Context, data []byte) error {
	if p.input == nil {
		return ErrNoStdin
	}
	return p.input.write(ctx, data)
}

// CloseStdin ends the input.
func (p *Process) CloseStdin(ctx context.Context) error {
	if p.input == nil {
		return ErrNoStdin
	}
	return p.input.eof(ctx)
}

// Resize changes the size of the terminal and tells the process.
func (p *Process) Resize(size Size) error {
	if p.pty == nil || !p.Running() {
		return ErrNoTerminal
	}
	return resize(p.pty, size)
}

// Flushed waits until everything the process has written so far is in the log.
func (p *Process) Flushed(ctx context.Context) error {
	for pause := time.Duration(0); !p.drained(); pause = min(pause+time.Millisecond, 20*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (p *Process) drained() bool {
	for _, pump := range p.pumps {
		if !pump.drained() {
			return false
		}
	}
	return true
}

// follow lives as long as the process and ends it in the registry.
func (p *Process) follow(timeout time.Duration, waitForHolders bool) {
	var timer *time.Timer
	if timeout > 0 {
		timer = time.AfterFunc(timeout, func() {
			p.timedOut.Store(true)
			p.KillTree()
		})
	}
	<-p.child.Done
	held := p.waitForOutput(waitForHolders)
	if timer != nil {
		timer.Stop()
	}
	p.exit = exitOf(p.child.Status)
	p.exit.TimedOut = p.timedOut.Load()
	// Some kernels (gVisor) keep a terminal open that nobody holds.
	p.exit.DescendantsRunning = held && len(p.tree(takeCensus())) > 0
	p.endedAt = time.Now()
	p.letGo()
	p.Log.Close()
	close(p.done)
}

// waitForOutput returns when the last output is in the log; true when somebody else still holds it open.
func (p *Process) waitForOutput(forHolders bool) bool {
	deadline := time.Now().Add(drainMost)
	for !p.outputEnds(drainQuiet) {
		switch {
		case forHolders:
		case p.drained(), time.Now().After(deadline) && !p.heldBack():
			return true
		}
	}
	return false
}

// outputEnds waits a while for the end of all output.
func (p *Process) outputEnds(within time.Duration) bool {
	late := time.NewTimer(within)
	defer late.Stop()
	for _, pump := range p.pumps {
		select {
		case <-pump.ended:
		case <-late.C:
			return false
		}
	}
	return true
}

// heldBack tells whether a reader keeps the output from moving.
func (p *Process) heldBack() bool {
	for _, pump := range p.pumps {
		if !pump.moving.TryLock() {
			return true
		}
		pump.moving.Unlock()
	}
	return false
}

// letGo closes what only the process itself needed. Pipes that others hold are read on and their output dropped.
func (p *Process) letGo() {
	if p.pty != nil {
		p.pty.Close()
		return
	}
	if p.input != nil {
		p.input.file.Close()
	}
	for _, pump := range p.pumps {
		pump.discard.Store(true)
	}
}

func exitOf(status syscall.WaitStatus) Exit {
	if status.Signaled() {
		return Exit{Code: -1, Signal: status.Signal()}
	}
	return Exit{Code: status.ExitStatus()}
}
