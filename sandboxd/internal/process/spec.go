// Package process starts processes, keeps their output and exit status, and finds the processes that they started.
package process

import (
	"os"
	"strings"
	"syscall"
	"time"
)

// Spec describes a process to start.
type Spec struct {
	// Argv is the program and its arguments. No shell is involved.
	Argv []string
	// Shown is the command in listings. Default: Argv.
	Shown []string
	// Env is added to the daemon's environment and overrides it.
	Env map[string]string
	// Cwd is a path below the root; empty means the root.
	Cwd string
	// AbsoluteCwd is a directory chosen by a trusted caller. It overrides Cwd.
	AbsoluteCwd string
	// User is a name of /etc/passwd, "uid" or "uid:gid"; empty means the manager's default.
	User string
	// Timeout is the time after which the process tree is killed. 0 means never.
	Timeout time.Duration
	// PTY gives the process a terminal of this size.
	PTY *Size
	// Stdin opens a pipe to the process. Without it and without PTY, standard input is empty.
	Stdin bool
	// Session starts a new session instead of only a new process group.
	Session bool
	// Detached keeps the process in the registry after it has ended, until newer ones replace it.
	Detached bool
	// Origin is the API that started it: "start", "execute", "legacy" or "context"; "hook" for a hook, "rehearsal" for the daemon itself.
	Origin string
	// WhileStopped starts the process also while the processes of the sandbox are stopped.
	WhileStopped bool
	// Extra are files that the process gets as descriptors 3 and up. The caller closes them.
	Extra []*os.File
	// Follow opens a first, blocking reader that misses no output.
	Follow bool
	// KeepBytes is the size of the log. 0 means the manager's default.
	KeepBytes int
}

func (s *Spec) check() *StartError {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return refuse(Invalid, "Cannot start a process: the command is empty")
	}
	for _, word := range s.Argv {
		if strings.ContainsRune(word, 0) {
			return refuse(Invalid, "Cannot start %q: an argument contains a NUL byte", s.Argv[0])
		}
	}
	for name, value := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return refuse(Invalid, "Cannot start %q: the environment variable %q has an invalid name or value", s.Argv[0], name)
		}
	}
	if s.Timeout < 0 {
		return refuse(Invalid, "Cannot start %q: the timeout is negative", s.Argv[0])
	}
	return nil
}

// findProgram looks up a name in the daemon's PATH. Names with a slash are returned unchanged.
func findProgram(name string) (string, *StartError) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	denied := false
	for dir := range strings.SplitSeq(os.Getenv("PATH"), ":") {
		if dir == "" {
			dir = "."
		}
		file := dir + "/" + name
		info, err := os.Stat(file)
		if err != nil || info.IsDir() {
			continue
		}
		if syscall.Access(file, 1) == nil {
			return file, nil
		}
		denied = true
	}
	if denied {
		return "", refuse(Denied, "Cannot start %q: the file in PATH is not executable", name)
	}
	return "", refuse(NotFound, "Cannot start %q: no such program in PATH", name)
}
