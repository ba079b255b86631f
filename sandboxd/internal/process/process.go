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
	// After a process has ended, its output may still be held open by others. drainQuiet is how long there must be no
	// output to stop waiting for them, drainMost the longest wait in any case.
	drainQuiet = 100 * time.Millisecond
	drainMost  = 5 * time.Second
)

// ErrNoTerminal is returned if a process has no terminal, or has none any more.
var ErrNoTerminal = errors.New("the process has no terminal")

// Exit describes how a process ended.
type Exit struct {
	// Code is the exit status, -1 after a signal.
	Code int
	// Signal is the signal that ended the process, or 0.
	Signal syscall.Signal
	// TimedOut is true if the process tree was killed because of the timeout.
	TimedOut bool
	// DescendantsRunning is true if another process still holds its output open.
	DescendantsRunning bool
}

// Process is a process started by a Manager.
type Process struct {
	ID        int32
	Pid       int
	Argv      []string
	Cwd       string
	Origin    string
	Detached  bool
	StartedAt time.Time
	Log       *Log
	// First is the reader requested with Spec.Follow. The caller of Start closes it.
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

// Done is closed when the process has ended and its whole output is in the log.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running reports whether Done is still open.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Exit returns how and when the process ended. It is valid after Done is closed.
func (p *Process) Exit() (Exit, time.Time) { return p.exit, p.endedAt }

// Listed reports whether clients see the process. They do not see the daemon's own rehearsal.
func (p *Process) Listed() bool { return p.Origin != OriginRehearsal }

// HasPTY reports whether the process has a terminal.
func (p *Process) HasPTY() bool { return p.pty != nil }

// Signal sends a signal to the process only. It does nothing if the process has ended.
func (p *Process) Signal(signal syscall.Signal) { p.child.Signal(signal) }

// SignalGroup sends a signal to the process group. It does nothing if the process has ended.
func (p *Process) SignalGroup(signal syscall.Signal) { p.child.SignalGroup(signal) }

// WriteStdin blocks until the process has room for the data.
func (p *Process) WriteStdin(ctx context.Context, data []byte) error {
	if p.input == nil {
		return ErrNoStdin
	}
	return p.input.write(ctx, data)
}

// CloseStdin closes the standard input.
func (p *Process) CloseStdin(ctx context.Context) error {
	if p.input == nil {
		return ErrNoStdin
	}
	return p.input.eof(ctx)
}

// Resize changes the size of the terminal. The kernel notifies the process.
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

// follow waits for the end of the process and records it in the registry.
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
	// gVisor keeps a terminal open that no process holds.
	p.exit.DescendantsRunning = held && len(p.tree(takeCensus())) > 0
	p.endedAt = time.Now()
	p.letGo()
	p.Log.Close()
	close(p.done)
}

// waitForOutput returns when the last output is in the log. It reports whether another process still holds it open.
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

// outputEnds waits for the end of all output, at most for the given time.
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

// heldBack reports whether a reader blocks the output.
func (p *Process) heldBack() bool {
	for _, pump := range p.pumps {
		if !pump.moving.TryLock() {
			return true
		}
		pump.moving.Unlock()
	}
	return false
}

// letGo closes the files of the process. Pipes that other processes hold are still read, and their output is dropped.
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
