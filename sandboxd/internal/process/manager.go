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
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/gate"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/reaper"
)

const (
	// maxRunning is the limit of concurrent processes. Together they keep at most maxRunning * keepDetached = 128 MiB of output.
	maxRunning = 512
	// maxKept is the number of ended detached processes that are kept with their output.
	maxKept = 64
	// keepDetached is the output kept of a detached process, keepAttached the buffer between a process and its only reader.
	keepDetached = 256 << 10
	keepAttached = 64 << 10
)

// Options of a Manager.
type Options struct {
	Reaper *reaper.Reaper
	// Root confines working directories.
	Root *confine.Root
	// Env returns the environment of a new process.
	Env func() []string
	// User is the default user of processes.
	User string
	// Gate is shut while the processes of the sandbox are stopped.
	Gate *gate.Gate
}

// Manager is the registry of the processes of one sandbox.
type Manager struct {
	reaper      *reaper.Reaper
	root        *confine.Root
	baseEnv     func() []string
	defaultUser string
	gate        *gate.Gate
	nonce       string

	once sync.Mutex

	mu        sync.Mutex
	lastID    int32
	running   int
	stopping  bool
	processes map[int32]*Process
	// kept are the ended detached processes, oldest first.
	kept []*Process
	// requests maps request ids to the detached processes they started.
	requests map[string]*Process
}

// NewManager returns an empty registry.
func NewManager(options Options) *Manager {
	return &Manager{
		reaper:      options.Reaper,
		root:        options.Root,
		baseEnv:     options.Env,
		defaultUser: options.User,
		gate:        options.Gate,
		// Makes markers impossible to guess.
		nonce:     rand.Text(),
		processes: map[int32]*Process{},
		requests:  map[string]*Process{},
	}
}

// Root returns the directory that confines working directories.
func (m *Manager) Root() *confine.Root { return m.root }

// Start starts a process and registers it. The error is a *StartError.
func (m *Manager) Start(spec Spec) (*Process, error) {
	if refused := spec.check(); refused != nil {
		return nil, refused
	}
	if spec.User == "" {
		spec.User = m.defaultUser
	}
	if !spec.WhileStopped {
		leave, err := m.gate.Enter()
		if err != nil {
			return nil, startFailure("start", spec.Argv[0], err)
		}
		defer leave()
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
	OriginHook    = "hook"
	// OriginRehearsal is the command that the daemon runs when it starts.
	OriginRehearsal = "rehearsal"
)

func (m *Manager) reserve(program string) (int32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopping {
		return 0, refuse(Exhausted, "Cannot start %q: the sandbox is shutting down", program)
	}
	if m.running >= maxRunning {
		return 0, refuse(Exhausted, "Cannot start %q: %d processes are running; wait for one to end", program, maxRunning)
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

// settle removes an ended process from the registry, or keeps it if it was detached.
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

// Forget removes a process from the registry.
func (m *Manager) Forget(p *Process) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drop(p)
}

// Knows reports whether this request id has started a process that is still registered.
func (m *Manager) Knows(requestID string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests[requestID] != nil
}

// StartOnce is like Start, unless this request id has started a process before. Then it returns that process and true.
func (m *Manager) StartOnce(requestID string, spec Spec) (*Process, bool, error) {
	if requestID == "" || !spec.Detached {
		p, err := m.Start(spec)
		return p, false, err
	}
	// Starts with request ids are serialized, so that two concurrent ones with the same id start one process.
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

// Get returns the process with this id.
func (m *Manager) Get(id int32) (*Process, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.processes[id]
	return p, ok
}

// List returns all registered processes in the order in which they were started.
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

// Shutdown sends SIGTERM to every process, waits for at most grace, and kills the remaining process trees. Later starts
// are refused.
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
