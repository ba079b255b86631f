// Package process starts processes, keeps their output and their end, and finds everything they started.
package process

import (
	"os"
	"strings"
	"syscall"
	"time"
)

// Spec says what to run.
type Spec struct {
	// Argv is the program and its arguments; no shell reads them.
	Argv []string
	// Shown is the command as it is listed, when that is not Argv.
	Shown []string
	// Env is added to the daemon's own environment and wins over it.
	Env map[string]string
	// Cwd is a path below the root; empty means the root.
	Cwd string
	// AbsoluteCwd is a directory that a trusted caller chose; it wins over Cwd.
	AbsoluteCwd string
	// User is a name of /etc/passwd, "uid" or "uid:gid"; empty means the manager's default.
	User string
	// Timeout ends the whole process tree; 0 means never.
	Timeout time.Duration
	// PTY gives the process a terminal of this size.
	PTY *Size
	// Stdin opens a pipe to write to; without it and without PTY the process reads nothing.
	Stdin bool
	// Session makes the process the leader of a session of its own instead of only a process group.
	Session bool
	// Detached keeps the process in the registry after it ended, until others push it out.
	Detached bool
	// Origin says who asked: "start", "execute", "legacy" or "context".
	Origin string
	// Extra are descriptors the process gets as 3 and up. They stay the caller's to close.
	Extra []*os.File
	// Follow gives the process a first reader that holds it back and misses nothing.
	Follow bool
	// KeepBytes is how much of the output is kept; 0 means the manager's default.
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
			return refuse(Invalid, "Cannot start %q: %q is not a variable name with a value that an environment can hold", s.Argv[0], name)
		}
	}
	if s.Timeout < 0 {
		return refuse(Invalid, "Cannot start %q: the timeout is negative", s.Argv[0])
	}
	return nil
}

// findProgram looks a name up in the daemon's own PATH. Names with a slash are left to exec.
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
