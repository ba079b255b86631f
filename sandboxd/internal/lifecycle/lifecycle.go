// Package lifecycle prepares the sandbox for being saved, and refreshes it when it continues from saved memory.
//
// For a snapshot, all processes except this one are stopped. So this daemon is the only process that runs when a fork
// begins: it refreshes the identity and runs the hook before it continues the others.
package lifecycle

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/environment"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/gate"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/token"
)

// Events that the node sends. Each can be repeated.
const (
	BeforeSuspend  = "before-suspend"
	AfterResume    = "after-resume"
	BeforeSnapshot = "before-snapshot"
	AfterSnapshot  = "after-snapshot"
	AfterFork      = "after-fork"
)

const (
	// stoppedTime is how long processes stay stopped if the node does not send the event that continues them. An image is
	// normally taken within a second.
	stoppedTime = 30 * time.Second
	// hookTime is the limit for all executables of a hook together.
	hookTime = 10 * time.Second
)

// Options of a Lifecycle.
type Options struct {
	Environment *environment.Source
	// Guard checks tokens; nil without a token.
	Guard     *token.Guard
	Processes *process.Manager
	// Gate is shut while processes are stopped.
	Gate     *gate.Gate
	HooksDir string
	// MachineIDFiles are the files with the id of the machine, which is another one in a fork.
	MachineIDFiles []string
	// Log gets the output of hooks.
	Log io.Writer
}

// Report is the answer to an event.
type Report struct {
	Epoch int64 `json:"epoch"`
	// Processes is how many processes were stopped or continued.
	Processes int `json:"processes"`
	// Expired is true if the processes continued before this event because stoppedTime had passed.
	Expired bool `json:"expired"`
	// Failures are what did not work. They do not keep the sandbox from continuing.
	Failures []string `json:"failures"`
}

// Lifecycle handles events, one at a time.
type Lifecycle struct {
	Options
	stoppedTime, hookTime time.Duration

	mu      sync.Mutex
	stopped process.Stopped
	// limit continues the processes after stoppedTime. It is nil unless they are stopped.
	limit *time.Timer
	// stops counts the stops, so that the limit of one does not end the next.
	stops   int
	expired bool
	// suspending is true from before-suspend until after-resume.
	suspending bool
}

// New returns a Lifecycle of a sandbox whose processes run.
func New(options Options) *Lifecycle {
	return &Lifecycle{Options: options, stoppedTime: stoppedTime, hookTime: hookTime}
}

// Handle handles an event. It returns false for an unknown one.
func (l *Lifecycle) Handle(event string) (Report, bool) {
	handle, known := map[string]func() (int, []error){
		BeforeSuspend: l.beforeSuspend, AfterResume: l.afterResume,
		BeforeSnapshot: l.beforeSnapshot, AfterSnapshot: l.afterSnapshot, AfterFork: l.afterFork,
	}[event]
	if !known {
		return Report{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	report := Report{Expired: l.expired && event != BeforeSnapshot, Failures: []string{}}
	l.expired = false
	processes, failures := handle()
	for _, failure := range failures {
		slog.Warn("lifecycle event failed in part", "event", event, "error", failure.Error())
		report.Failures = append(report.Failures, failure.Error())
	}
	report.Epoch, report.Processes = l.Environment.Current().Epoch, processes
	return report, true
}

// Abandon continues stopped processes at once, because the daemon ends.
func (l *Lifecycle) Abandon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.proceed(false)
}

func (l *Lifecycle) beforeSuspend() (int, []error) {
	l.suspending = true
	return 0, l.runHook(BeforeSuspend)
}

// afterResume runs the hook if before-suspend came first, also if saving failed, or if the sandbox was restored.
func (l *Lifecycle) afterResume() (int, []error) {
	before, after, failures := l.refresh(false)
	if l.suspending || before.Epoch != after.Epoch {
		failures = append(failures, l.runHook(AfterResume)...)
	}
	l.suspending = false
	return l.proceed(false), failures
}

func (l *Lifecycle) beforeSnapshot() (int, []error) {
	if l.limit != nil {
		l.limit.Stop()
	}
	l.Gate.Shut()
	stopped, running := l.Processes.StopAll()
	l.stopped = append(l.stopped, stopped...)
	l.stops++
	stop := l.stops
	l.limit = time.AfterFunc(l.stoppedTime, func() { l.expire(stop) })
	if running > 0 {
		return len(l.stopped), []error{fmt.Errorf("cannot stop %d processes: they are not allowed to be stopped, or do not stop", running)}
	}
	return len(l.stopped), nil
}

func (l *Lifecycle) afterSnapshot() (int, []error) { return l.proceed(false), nil }

// afterFork also follows a rollback, in which only the epoch differs.
func (l *Lifecycle) afterFork() (int, []error) {
	before, after, failures := l.refresh(true)
	if before == after {
		return l.proceed(false), failures
	}
	if before.UID != after.UID {
		failures = append(failures, refreshMachineID(l.MachineIDFiles, after.UID)...)
	}
	failures = append(failures, l.runHook(AfterFork)...)
	l.suspending = false
	return l.proceed(true), failures
}

// expire ends a stop that nobody has ended. It may happen in a fork too.
func (l *Lifecycle) expire(stop int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limit == nil || l.stops != stop {
		return
	}
	slog.Warn("processes continue because the limit for a snapshot has passed", "limit", l.stoppedTime.String())
	_, _ = l.afterFork()
	l.expired = true
}

// proceed continues the stopped processes, lets requests pass, and returns the number of processes. In a fork, requests
// that waited are refused, because the source serves them.
func (l *Lifecycle) proceed(isFork bool) int {
	if l.limit == nil {
		return 0
	}
	l.limit.Stop()
	count := len(l.stopped)
	l.stopped.Continue()
	l.limit, l.stopped = nil, nil
	l.Gate.Open(isFork)
	return count
}

// refresh reads the token and the environment again, which differ in a fork. The token of the source is never valid in
// a fork, not even if the fork's own token and identity cannot be read.
func (l *Lifecycle) refresh(mayBeFork bool) (before, after environment.Environment, failures []error) {
	before, after, err := l.Environment.Refresh()
	if err != nil {
		failures = append(failures, err)
	}
	if err := l.Guard.Refresh(); err != nil {
		failures = append(failures, err)
		if mayBeFork || before.UID != after.UID {
			l.Guard.Revoke()
		}
	}
	return before, after, failures
}
