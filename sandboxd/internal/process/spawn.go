package process

import (
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/reaper"
)

// plumbing holds the files of a new process. The child's ends are closed when it runs.
type plumbing struct {
	child  []*os.File
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	pty    *os.File
}

func (p *plumbing) closeChild() {
	for _, file := range p.child {
		file.Close()
	}
}

func (p *plumbing) closeAll() {
	p.closeChild()
	for _, file := range []*os.File{p.stdin, p.stdout, p.stderr, p.pty} {
		if file != nil {
			file.Close()
		}
	}
}

func connect(spec *Spec) (*plumbing, error) {
	p := &plumbing{}
	if spec.PTY != nil {
		controller, terminal, err := openPTY(*spec.PTY)
		if err != nil {
			return nil, err
		}
		p.pty, p.child = controller, []*os.File{terminal}
		return p, nil
	}
	if err := p.connectPipes(spec.Stdin); err != nil {
		p.closeAll()
		return nil, err
	}
	return p, nil
}

func (p *plumbing) connectPipes(withStdin bool) error {
	input, err := os.Open(os.DevNull)
	if withStdin && err == nil {
		input.Close()
		input, p.stdin, err = pipe(false)
	}
	if err != nil {
		return err
	}
	p.child = append(p.child, input)
	for _, ours := range []**os.File{&p.stdout, &p.stderr} {
		reader, writer, err := pipe(true)
		if err != nil {
			return err
		}
		*ours, p.child = reader, append(p.child, writer)
	}
	return nil
}

// pipe opens a pipe. Only our end is non-blocking, because programs do not expect it of theirs.
func pipe(weRead bool) (reader, writer *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, err
	}
	ours := fds[1]
	if weRead {
		ours = fds[0]
	}
	if err := unix.SetNonblock(ours, true); err != nil {
		unix.Close(fds[0])
		unix.Close(fds[1])
		return nil, nil, err
	}
	return os.NewFile(uintptr(fds[0]), "|0"), os.NewFile(uintptr(fds[1]), "|1"), nil
}

// Pipe opens a pipe between this process and one that it starts. Our end is the reader or the writer.
func Pipe(weRead bool) (reader, writer *os.File, err error) { return pipe(weRead) }

// spawn starts the process. The working directory is entered by its descriptor, because its path may have been replaced.
func (m *Manager) spawn(spec *Spec, marker string, p *plumbing) (*reaper.Child, string, error) {
	program, refused := findProgram(spec.Argv[0])
	if refused != nil {
		return nil, "", refused
	}
	who, err := LookupAccount(spec.User)
	if err != nil {
		return nil, "", refuse(Invalid, "Cannot start %q: %v", spec.Argv[0], err)
	}
	dir, path, err := m.openCwd(spec)
	if err != nil {
		return nil, "", startFailure("enter", spec.Cwd+spec.AbsoluteCwd, err)
	}
	defer unix.Close(dir)
	attr := &syscall.ProcAttr{
		Dir:   confine.DescriptorPath(dir),
		Env:   m.environment(spec, who, path, marker),
		Files: childDescriptors(p, spec.Extra),
		Sys:   &syscall.SysProcAttr{},
	}
	switch {
	case p.pty != nil:
		attr.Sys.Setsid, attr.Sys.Setctty, attr.Sys.Ctty = true, true, 0
	case spec.Session:
		attr.Sys.Setsid = true
	default:
		attr.Sys.Setpgid = true
	}
	if who != nil {
		who.Assume(attr.Sys)
		if p.pty != nil {
			_ = p.child[0].Chown(int(who.Credential.Uid), int(who.Credential.Gid))
		}
	}
	child, err := m.reaper.Start(program, spec.Argv, attr)
	if err != nil {
		return nil, "", startFailure("start", spec.Argv[0], err)
	}
	return child, path, nil
}

func childDescriptors(p *plumbing, extra []*os.File) []uintptr {
	var fds []uintptr
	if p.pty != nil {
		terminal := p.child[0].Fd()
		fds = []uintptr{terminal, terminal, terminal}
	} else {
		for _, file := range p.child {
			fds = append(fds, file.Fd())
		}
	}
	for _, file := range extra {
		fds = append(fds, file.Fd())
	}
	return fds
}

func (m *Manager) openCwd(spec *Spec) (int, string, error) {
	if spec.AbsoluteCwd != "" {
		dir, err := unix.Open(spec.AbsoluteCwd, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return dir, spec.AbsoluteCwd, err
	}
	rel, err := m.root.Rel(spec.Cwd)
	if err != nil {
		return -1, "", err
	}
	entry, err := m.root.Locate(rel, confine.Lookup{})
	if err != nil {
		return -1, "", err
	}
	defer entry.Close()
	dir, err := entry.Handle()
	if err != nil {
		return -1, "", err
	}
	var stat unix.Stat_t
	if err := unix.Fstat(dir, &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		unix.Close(dir)
		return -1, "", unix.ENOTDIR
	}
	path := strings.TrimSuffix(m.root.Path(), "/")
	if entry.Rel != "." || path == "" {
		path += "/" + strings.TrimPrefix(entry.Rel, ".")
	}
	return dir, path, nil
}

// markerVariable identifies the processes of a tree, also after they have been orphaned or have changed their session.
const markerVariable = "SANDBOXD_PROCESS"

func (m *Manager) environment(spec *Spec, who *Account, cwd, marker string) []string {
	env := map[string]string{}
	for _, pair := range m.baseEnv() {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	env["PWD"] = cwd
	if who != nil {
		maps.Copy(env, who.Variables())
	}
	if spec.PTY != nil {
		env["TERM"] = "xterm-256color"
	}
	maps.Copy(env, spec.Env)
	env[markerVariable] = marker
	pairs := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		pairs = append(pairs, name+"="+env[name])
	}
	return pairs
}
