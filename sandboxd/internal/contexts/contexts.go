// Package contexts runs code in interpreters that stay: what one call defines, the next one finds.
package contexts

import (
	"bufio"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
)

// maxContexts at once: each is an interpreter of some ten megabytes.
const maxContexts = 16

//go:embed driver.py
var pythonDriver string

//go:embed driver.js
var nodeDriver string

// language says how to start an interpreter.
type language struct {
	programs []string
	options  []string
	driver   string
}

var languages = map[string]language{
	"python":     {programs: []string{"python3", "python"}, options: []string{"-u", "-c"}, driver: pythonDriver},
	"javascript": {programs: []string{"node", "nodejs"}, options: []string{"--no-warnings", "--expose-internals", "-e"}, driver: nodeDriver},
}

// Errors that a caller can tell apart.
var (
	ErrUnknownLanguage = errors.New("unknown language")
	ErrNoInterpreter   = errors.New("no interpreter")
	ErrTooMany         = errors.New("too many contexts")
)

// Languages that contexts exist for.
func Languages() []string { return slices.Sorted(maps.Keys(languages)) }

// Spec of a new context.
type Spec struct {
	Language string            `json:"language"`
	Cwd      string            `json:"cwd"`
	Env      map[string]string `json:"env"`
	User     string            `json:"user"`
}

// Context is one interpreter.
type Context struct {
	ID        string    `json:"id"`
	Language  string    `json:"language"`
	Cwd       string    `json:"cwd"`
	ProcessID int32     `json:"process_id"`
	CreatedAt time.Time `json:"created_at"`

	process  *process.Process
	requests *os.File
	events   *bufio.Reader
	source   *os.File
	// turn holds one token: calls take turns.
	turn chan struct{}
}

// Manager has the contexts of one sandbox.
type Manager struct {
	processes *process.Manager

	mu       sync.Mutex
	contexts map[string]*Context
	// starting are the contexts that are promised but not there yet.
	starting int
	running  int
}

// NewManager returns one without contexts.
func NewManager(processes *process.Manager) *Manager {
	return &Manager{processes: processes, contexts: map[string]*Context{}}
}

// Create starts an interpreter.
func (m *Manager) Create(spec Spec) (*Context, error) {
	how, ok := languages[spec.Language]
	if !ok {
		return nil, ErrUnknownLanguage
	}
	program := ""
	for _, name := range how.programs {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		return nil, ErrNoInterpreter
	}
	m.mu.Lock()
	full := len(m.contexts)+m.starting >= maxContexts
	if !full {
		m.starting++
	}
	m.mu.Unlock()
	if full {
		return nil, ErrTooMany
	}
	created, err := m.launch(spec, slices.Concat([]string{program}, how.options, []string{how.driver}))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.starting--
	if err != nil {
		return nil, err
	}
	m.contexts[created.ID] = created
	go m.bury(created)
	return created, nil
}

func (m *Manager) launch(spec Spec, argv []string) (*Context, error) {
	theirRequests, requests, err := process.Pipe(false)
	if err != nil {
		return nil, err
	}
	defer theirRequests.Close()
	events, theirEvents, err := process.Pipe(true)
	if err != nil {
		requests.Close()
		return nil, err
	}
	defer theirEvents.Close()
	p, err := m.processes.Start(process.Spec{
		Argv: argv, Cwd: spec.Cwd, Env: spec.Env, User: spec.User, Origin: process.OriginContext,
		Extra: []*os.File{theirRequests, theirEvents},
		// The driver is not what a reader of the process list wants to see.
		Shown: argv[:1],
	})
	if err != nil {
		requests.Close()
		events.Close()
		return nil, err
	}
	return &Context{
		ID: strings.ToLower(rand.Text()[:16]), Language: spec.Language, Cwd: p.Cwd, ProcessID: p.ID, CreatedAt: p.StartedAt.UTC(),
		process: p, requests: requests, events: bufio.NewReader(events), source: events, turn: make(chan struct{}, 1),
	}, nil
}

// bury forgets a context whose interpreter ended.
func (m *Manager) bury(c *Context) {
	<-c.process.Done()
	m.mu.Lock()
	delete(m.contexts, c.ID)
	m.mu.Unlock()
	m.processes.Forget(c.process)
	c.requests.Close()
	c.source.Close()
}

// Get finds a context.
func (m *Manager) Get(id string) (*Context, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.contexts[id]
	return c, ok
}

// List gives the contexts by age.
func (m *Manager) List() []*Context {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.Collect(maps.Values(m.contexts))
	slices.SortFunc(list, func(a, b *Context) int { return int(a.ProcessID - b.ProcessID) })
	return list
}

// Close ends a context with everything it started.
func (m *Manager) Close(c *Context) {
	c.process.KillTree()
	<-c.process.Done()
}

// Running counts the calls at work.
func (m *Manager) Running() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running
}

// readEvent reads one line of the driver.
func (c *Context) readEvent() (Event, error) {
	var event Event
	line, err := readLine(c.events, maxEventBytes)
	if err != nil {
		return event, err
	}
	return event, json.Unmarshal(line, &event)
}

// maxEventBytes is more than the driver ever sends at once, unless code in it does so on purpose.
const maxEventBytes = 64 << 20

func readLine(from *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		piece, err := from.ReadSlice('\n')
		line = append(line, piece...)
		if err == nil || (err != bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > limit {
			return nil, io.ErrShortBuffer
		}
	}
}
