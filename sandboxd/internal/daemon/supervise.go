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

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/gate"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/reaper"
)

const (
	firstBackoff = 100 * time.Millisecond
	mostBackoff  = 10 * time.Second
	// healthyAfter is how long a command must have run for its next restart to have no delay.
	healthyAfter = 10 * time.Second

	exitNotFound = 127
	exitDenied   = 126
	exitSignal   = 128
)

// supervisor runs the user's command with the standard streams of the container.
type supervisor struct {
	reaper  *reaper.Reaper
	command []string
	env     func() []string
	// who is the user of the command, or nil for the daemon's own user.
	who    *process.Account
	policy string
	// gate is shut while the processes of the sandbox are stopped.
	gate *gate.Gate

	mu       sync.Mutex
	child    *reaper.Child
	stopping chan struct{}
	once     sync.Once
}

// run runs the command until it is not restarted any more, and returns its exit code.
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
	child, err := s.launch(program)
	if err != nil {
		return s.startFailure(err)
	}
	// A stop during the start had no child to send the signal to.
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

// launch starts the command, after a snapshot that is being taken: in a fork its environment is another one.
func (s *supervisor) launch(program string) (*reaper.Child, error) {
	leave, err := s.gate.Enter()
	for err != nil {
		leave, err = s.gate.Enter()
	}
	defer leave()
	attr := &syscall.ProcAttr{Env: s.environment(), Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true}}
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err == nil {
		// On a terminal, the command must be in the foreground to get its input and signals.
		attr.Sys.Foreground, attr.Sys.Ctty = true, 0
	}
	if s.who != nil {
		s.who.Assume(attr.Sys)
		s.giveStreams()
	}
	return s.start(program, attr)
}

// environment returns the environment of the command, with the variables of its user.
func (s *supervisor) environment() []string {
	if s.who == nil {
		return s.env()
	}
	own := s.who.Variables()
	env := slices.DeleteFunc(s.env(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		_, replaced := own[name]
		return replaced
	})
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	return env
}

// giveStreams changes the owner of the standard streams, so that the command can open /dev/stdout, as some programs do for
// their log. Streams that everyone may open are left alone. Errors are ignored, since an open stream can still be used.
func (s *supervisor) giveStreams() {
	for fd := range 3 {
		var stat unix.Stat_t
		if unix.Fstat(fd, &stat) == nil && stat.Mode&unix.S_IFMT != unix.S_IFREG && stat.Mode&0o006 == 0 {
			_ = unix.Fchown(fd, int(s.who.Credential.Uid), -1)
		}
	}
}

// start holds the lock until the child is known, so that no signal is lost in between.
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
	slog.Error("cannot start the command", "command", s.command[0], "error", err.Error())
	if errors.Is(err, os.ErrPermission) {
		return exitDenied
	}
	return exitNotFound
}

// signal forwards a signal to the command.
func (s *supervisor) signal(signal syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child != nil {
		s.child.Signal(signal)
	}
}

// kill kills the process group of the command.
func (s *supervisor) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child != nil {
		s.child.SignalGroup(syscall.SIGKILL)
	}
}

// stop prevents further restarts of the command.
func (s *supervisor) stop() { s.once.Do(func() { close(s.stopping) }) }
