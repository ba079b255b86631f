package process

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/reaper"
)

const (
	// maxRunning processes at once; together they keep at most maxRunning * keepDetached = 128 MiB of output.
	maxRunning = 512
	// maxKept detached processes are remembered after they ended, with their output.
	maxKept = 64
	// keepDetached is the replay of a detached process, keepAttached the play between a process and its one reader.
	keepDetached = 256 << 10
	keepAttached = 64 << 10
)

// Options of a Manager.
type Options struct {
	Reaper *reaper.Reaper
	// Root confines working directories.
	Root *confine.Root
	// Env is what every process gets.
	Env []string
	// User runs what names no user itself.
	User string
}

// Manager is the registry of the processes of one sandbox.
type Manager struct {
	reaper      *reaper.Reaper
	root        *confine.Root
	baseEnv     []string
	defaultUser string
	nonce       string

	once sync.Mutex

	mu        sync.Mutex
	lastID    int32
	running   int
	stopping  bool
	processes map[int32]*Process
	// kept are the ended detached processes, oldest first.
	kept []*Process
	// requests names the detached processes that were started under a request id.
	requests map[string]*Process
}

// NewManager returns an empty registry.
func NewManager(options Options) *Manager {
	return &Manager{
		reaper:      options.Reaper,
		root:        options.Root,
		baseEnv:     options.Env,
		defaultUser: options.User,
		// Nobody can carry the marker of a process by guessing it.
		nonce:     rand.Text(),
		processes: map[int32]*Process{},
		requests:  map[string]*Process{},
	}
}

// Root is where working directories are looked for.
func (m *Manager) Root() *confine.Root { return m.root }

// Start runs a process and registers it. A *StartError tells why not.
func (m *Manager) Start(spec Spec) (*Process, error) {
	if refused := spec.check(); refused != nil {
		return nil, refused
	}
	if spec.User == "" {
		spec.User = m.defaultUser
	}
	id, err := m.reserve(spec.Argv[0])
	if err != nil {
		return nil, err
	}
	p, err := m.launch(id, &spec)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.running--
		return nil, err
	}
	m.processes[id] = p
	go func() {
		p.follow(spec.Timeout, spec.Origin == OriginLegacy)
		m.settle(p)
	}()
	return p, nil
}

// Origins of processes.
const (
	OriginStart   = "start"
	OriginExecute = "execute"
	OriginLegacy  = "legacy"
	OriginContext = "context"
)

func (m *Manager) reserve(program string) (int32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopping {
		return 0, refuse(Exhausted, "Cannot start %q: the sandbox is shutting down", program)
	}
	if m.running >= maxRunning {
		return 0, refuse(Exhausted, "Cannot start %q: %d processes run already; wait for one to end", program, maxRunning)
	}
	m.running++
	m.lastID++
	return m.lastID, nil
}

func (m *Manager) launch(id int32, spec *Spec) (*Process, error) {
	wires, err := connect(spec)
	if err != nil {
		return nil, startFailure("connect", spec.Argv[0], err)
	}
	marker := m.nonce + "." + strconv.Itoa(int(id))
	child, cwd, err := m.spawn(spec, marker, wires)
	if err != nil {
		wires.closeAll()
		return nil, err
	}
	wires.closeChild()
	keep := spec.KeepBytes
	if keep == 0 && spec.Detached {
		keep = keepDetached
	} else if keep == 0 {
		keep = keepAttached
	}
	p := &Process{
		ID: id, Pid: child.Pid, Argv: spec.Argv, Cwd: cwd, Origin: spec.Origin, Detached: spec.Detached,
		StartedAt: time.Now(), Log: newLog(keep), child: child, marker: marker, pty: wires.pty, done: make(chan struct{}),
	}
	if spec.Shown != nil {
		p.Argv = spec.Shown
	}
	if spec.Follow {
		p.First = p.Log.Read(0, true)
	}
	p.plug(wires)
	return p, nil
}

func (p *Process) plug(wires *plumbing) {
	if wires.pty != nil {
		p.input = newStdin(wires.pty, true)
		p.pumps = []*pump{startPump(wires.pty, Stdout, p.Log)}
		return
	}
	if wires.stdin != nil {
		p.input = newStdin(wires.stdin, false)
	}
	p.pumps = []*pump{startPump(wires.stdout, Stdout, p.Log), startPump(wires.stderr, Stderr, p.Log)}
}

// settle forgets a process that ended, or keeps it with the last detached ones.
func (m *Manager) settle(p *Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.running--
	if !p.Detached {
		return
	}
	m.kept = append(m.kept, p)
	for len(m.kept) > maxKept {
		m.drop(m.kept[0])
		m.kept = slices.Delete(m.kept, 0, 1)
	}
}

func (m *Manager) drop(p *Process) {
	delete(m.processes, p.ID)
	for id, owner := range m.requests {
		if owner == p {
			delete(m.requests, id)
		}
	}
}

// Forget takes a process out of the registry: nobody can name it any more.
func (m *Manager) Forget(p *Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(p)
}

// StartOnce is Start, unless a process was started under this request id before: then it is that one, and true.
func (m *Manager) StartOnce(requestID string, spec Spec) (*Process, bool, error) {
	if requestID == "" || !spec.Detached {
		p, err := m.Start(spec)
		return p, false, err
	}
	// Starts under request ids take turns: two that come together must not both find nothing.
	m.once.Lock()
	defer m.once.Unlock()
	m.mu.Lock()
	earlier := m.requests[requestID]
	m.mu.Unlock()
	if earlier != nil {
		return earlier, true, nil
	}
	p, err := m.Start(spec)
	if err == nil {
		m.mu.Lock()
		m.requests[requestID] = p
		m.mu.Unlock()
	}
	return p, false, err
}

// Get finds a process by its number.
func (m *Manager) Get(id int32) (*Process, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.processes[id]
	return p, ok
}

// List gives all registered processes in the order they were started.
func (m *Manager) List() []*Process {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]*Process, 0, len(m.processes))
	for _, p := range m.processes {
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b *Process) int { return int(a.ID - b.ID) })
	return list
}

// Shutdown asks every process to end, waits for at most grace, kills the rest with everything they started, and
// starts no more.
func (m *Manager) Shutdown(ctx context.Context, grace time.Duration) {
	m.mu.Lock()
	m.stopping = true
	m.mu.Unlock()
	running := slices.DeleteFunc(m.List(), func(p *Process) bool { return !p.Running() })
	for _, p := range running {
		p.SignalGroup(syscall.SIGTERM)
	}
	patience, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for _, p := range running {
		select {
		case <-p.Done():
		case <-patience.Done():
		}
	}
	killTrees(running)
}
