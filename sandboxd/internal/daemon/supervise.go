package daemon

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
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
	// who runs the command; nil for the daemon's own user.
	who    *process.Account
	policy string

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
	attr := &syscall.ProcAttr{Env: s.environment(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true}}
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err == nil {
		// On a terminal the command is what the keys are for.
		attr.Sys.Foreground, attr.Sys.Ctty = true, 0
	}
	if s.who != nil {
		s.who.Assume(attr.Sys)
		s.giveStreams()
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

// environment adds who the command runs as.
func (s *supervisor) environment() []string {
	if s.who == nil {
		return s.env
	}
	own := s.who.Variables()
	env := slices.DeleteFunc(slices.Clone(s.env), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		_, replaced := own[name]
		return replaced
	})
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	return env
}

// giveStreams lets the command open its own /dev/stdout again, as programs do that log to a file. What belongs to
// everybody stays so, and a stream that cannot be given can still be written to.
func (s *supervisor) giveStreams() {
	for fd := range 3 {
		var stat unix.Stat_t
		if unix.Fstat(fd, &stat) == nil && stat.Mode&unix.S_IFMT != unix.S_IFREG && stat.Mode&0o006 == 0 {
			_ = unix.Fchown(fd, int(s.who.Credential.Uid), -1)
		}
	}
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
