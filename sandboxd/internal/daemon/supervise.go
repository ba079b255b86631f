package daemon

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/reaper"
)

const (
	firstBackoff = 100 * time.Millisecond
	mostBackoff  = 10 * time.Second
	// healthyAfter is how long a command must have run for its next restart to come at once.
	healthyAfter = 10 * time.Second

	exitNotFound = 127
	exitDenied   = 126
	exitSignal   = 128
)

// supervisor keeps the user's command running, with the descriptors of the container as its own.
type supervisor struct {
	reaper  *reaper.Reaper
	command []string
	env     []string
	policy  string

	mu       sync.Mutex
	child    *reaper.Child
	stopping chan struct{}
	once     sync.Once
}

// run returns the exit code of the command when it is not to be started again.
func (s *supervisor) run() int {
	backoff := firstBackoff
	for {
		began := time.Now()
		code := s.runOnce()
		slog.Info("command ended", "exit_code", code)
		if !s.again(code) {
			return code
		}
		if time.Since(began) > healthyAfter {
			backoff = firstBackoff
		}
		select {
		case <-time.After(backoff):
		case <-s.stopping:
			return code
		}
		backoff = min(2*backoff, mostBackoff)
	}
}

func (s *supervisor) again(code int) bool {
	select {
	case <-s.stopping:
		return false
	default:
	}
	return s.policy == RestartAlways || (s.policy == RestartOnFailure && code != 0)
}

func (s *supervisor) runOnce() int {
	program, err := exec.LookPath(s.command[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return s.startFailure(err)
	}
	attr := &syscall.ProcAttr{Env: s.env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true}}
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err == nil {
		// On a terminal the command is what the keys are for.
		attr.Sys.Foreground, attr.Sys.Ctty = true, 0
	}
	child, err := s.start(program, attr)
	if err != nil {
		return s.startFailure(err)
	}
	// A stop that came while it was being started found no child to pass the signal to.
	select {
	case <-s.stopping:
		child.Signal(syscall.SIGTERM)
	default:
	}
	<-child.Done
	if child.Status.Signaled() {
		return exitSignal + int(child.Status.Signal())
	}
	return child.Status.ExitStatus()
}

// start keeps signals waiting until the child is known: one that came in between would be lost.
func (s *supervisor) start(program string, attr *syscall.ProcAttr) (*reaper.Child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	child, err := s.reaper.Start(program, s.command, attr)
	if err == nil {
		s.child = child
	}
	return child, err
}

func (s *supervisor) startFailure(err error) int {
	slog.Error("command cannot be started", "command", s.command[0], "error", err.Error())
	if errors.Is(err, os.ErrPermission) {
		return exitDenied
	}
	return exitNotFound
}

// signal passes a signal on to the command.
func (s *supervisor) signal(signal syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child != nil {
		s.child.Signal(signal)
	}
}

// kill ends the command and its process group.
func (s *supervisor) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child != nil {
		s.child.SignalGroup(syscall.SIGKILL)
	}
}

// stop makes the next end of the command the last one.
func (s *supervisor) stop() { s.once.Do(func() { close(s.stopping) }) }
