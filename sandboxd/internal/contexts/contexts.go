// Package contexts runs code in interpreters that keep their state between calls.
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

// maxContexts is the limit of contexts. Each is an interpreter that uses about ten megabytes.
const maxContexts = 16

//go:embed display.py
var pythonDisplay string

//go:embed charts.py
var pythonCharts string

//go:embed driver.py
var pythonDriver string

//go:embed driver.js
var nodeDriver string

// language describes how an interpreter is started.
type language struct {
	programs []string
	options  []string
	driver   string
}

var languages = map[string]language{
	"python":     {programs: []string{"python3", "python"}, options: []string{"-u", "-c"}, driver: pythonDisplay + pythonCharts + pythonDriver},
	"javascript": {programs: []string{"node", "nodejs"}, options: []string{"--no-warnings", "--expose-internals", "-e"}, driver: nodeDriver},
}

// Errors of Create.
var (
	ErrUnknownLanguage = errors.New("unknown language")
	ErrNoInterpreter   = errors.New("no interpreter")
	ErrTooMany         = errors.New("too many contexts")
	ErrNameTaken       = errors.New("the name is taken")
)

// Languages returns the supported languages.
func Languages() []string { return slices.Sorted(maps.Keys(languages)) }

// Spec describes a new context.
type Spec struct {
	// Name is a second id, chosen by the client. No other context may have it.
	Name     string            `json:"name"`
	Language string            `json:"language"`
	Cwd      string            `json:"cwd"`
	Env      map[string]string `json:"env"`
	User     string            `json:"user"`
}

// Context is a running interpreter.
type Context struct {
	ID        string    `json:"id"`
	Name      string    `json:"name,omitempty"`
	Language  string    `json:"language"`
	Cwd       string    `json:"cwd"`
	ProcessID int32     `json:"process_id"`
	CreatedAt time.Time `json:"created_at"`

	process  *process.Process
	requests *os.File
	events   *bufio.Reader
	source   *os.File
	// turn is a lock with one token: calls run one at a time.
	turn chan struct{}
}

// Manager manages the contexts of a sandbox.
type Manager struct {
	processes *process.Manager

	mu       sync.Mutex
	contexts map[string]*Context
	// starting is the number of contexts that are being started, names are those of them.
	starting int
	names    map[string]bool
	running  int
}

// NewManager returns a manager without contexts.
func NewManager(processes *process.Manager) *Manager {
	return &Manager{processes: processes, contexts: map[string]*Context{}, names: map[string]bool{}}
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
	err := m.reserve(spec.Name)
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	created, err := m.launch(spec, slices.Concat([]string{program}, how.options, []string{how.driver}))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.starting--
	delete(m.names, spec.Name)
	if err != nil {
		return nil, err
	}
	m.contexts[created.ID] = created
	go m.bury(created)
	return created, nil
}

// reserve counts a context that is about to be started. It is called with mu held.
func (m *Manager) reserve(name string) error {
	if len(m.contexts)+m.starting >= maxContexts {
		return ErrTooMany
	}
	if name != "" && (m.names[name] || m.find(name) != nil) {
		return ErrNameTaken
	}
	m.starting++
	if name != "" {
		m.names[name] = true
	}
	return nil
}

// find returns the context with this id or name, or nil. It is called with mu held.
func (m *Manager) find(idOrName string) *Context {
	if c, ok := m.contexts[idOrName]; ok {
		return c
	}
	for _, c := range m.contexts {
		if c.Name == idOrName {
			return c
		}
	}
	return nil
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
		// Hides the driver's code in the list of processes.
		Shown: argv[:1],
	})
	if err != nil {
		requests.Close()
		events.Close()
		return nil, err
	}
	return &Context{
		ID: strings.ToLower(rand.Text()[:16]), Name: spec.Name, Language: spec.Language, Cwd: p.Cwd, ProcessID: p.ID, CreatedAt: p.StartedAt.UTC(),
		process: p, requests: requests, events: bufio.NewReader(events), source: events, turn: make(chan struct{}, 1),
	}, nil
}

// bury removes a context whose interpreter has ended.
func (m *Manager) bury(c *Context) {
	<-c.process.Done()
	m.mu.Lock()
	delete(m.contexts, c.ID)
	m.mu.Unlock()
	m.processes.Forget(c.process)
	c.requests.Close()
	c.source.Close()
}

// Get returns the context with this id or name.
func (m *Manager) Get(id string) (*Context, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.find(id)
	return c, c != nil
}

// List returns the contexts, the oldest first.
func (m *Manager) List() []*Context {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := slices.Collect(maps.Values(m.contexts))
	slices.SortFunc(list, func(a, b *Context) int { return int(a.ProcessID - b.ProcessID) })
	return list
}

// Close ends a context and all processes that it started.
func (m *Manager) Close(c *Context) {
	c.process.KillTree()
	<-c.process.Done()
}

// Running returns the number of running calls.
func (m *Manager) Running() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.running
}

// readEvent reads one line from the driver.
func (c *Context) readEvent() (Event, error) {
	var event Event
	line, err := readLine(c.events, maxEventBytes)
	if err != nil {
		return event, err
	}
	return event, json.Unmarshal(line, &event)
}

// maxEventBytes is more than the driver sends, except if code in it does so deliberately.
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
