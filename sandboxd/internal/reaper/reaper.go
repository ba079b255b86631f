// Package reaper starts child processes and waits for every process that ends below this one: its children, whose status
// is passed to their starters, and orphans, if this is process 1 or a subreaper.
package reaper

import (
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Child is a process started by a Reaper.
type Child struct {
	Pid int
	// Done is closed when the child has been waited for and Status is set.
	Done   chan struct{}
	Status syscall.WaitStatus

	// signalling prevents that the process id is reused while a signal is being sent.
	signalling sync.Mutex
	collected  bool
}

// Signal sends a signal to the child only. It returns false if the child has been waited for and its id may be reused.
func (c *Child) Signal(signal syscall.Signal) bool {
	return c.whileAlive(func() { _ = syscall.Kill(c.Pid, signal) })
}

// SignalGroup sends a signal to the child's process group, or to the child if it leads none.
func (c *Child) SignalGroup(signal syscall.Signal) bool {
	return c.whileAlive(func() {
		if syscall.Kill(-c.Pid, signal) != nil {
			_ = syscall.Kill(c.Pid, signal)
		}
	})
}

// Collected reports whether the child has been waited for, so that its process id is free again.
func (c *Child) Collected() bool {
	c.signalling.Lock()
	defer c.signalling.Unlock()
	return c.collected
}

func (c *Child) whileAlive(do func()) bool {
	c.signalling.Lock()
	defer c.signalling.Unlock()
	if c.collected {
		return false
	}
	do()
	return true
}

// Reaper starts and waits for children. If it adopts orphans, nothing else in the process may wait for children.
type Reaper struct {
	adopt bool
	// starting is read-locked from fork until the child is registered, so that no child is taken for an orphan.
	starting sync.RWMutex

	mu       sync.Mutex
	children map[int]*Child
}

// New returns a reaper. With adopt it also waits for orphans, and becomes a subreaper if it is not process 1. In gVisor,
// which has no subreapers, orphans go to process 1.
func New(adopt bool) *Reaper {
	if adopt && os.Getpid() != 1 {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			slog.Info("orphans go to process 1", "error", err.Error())
		}
	}
	r := &Reaper{adopt: adopt, children: map[int]*Child{}}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() {
		for range ended {
			r.collect()
		}
	}()
	return r
}

// Start starts a program. The error is the errno of fork, chdir or exec.
func (r *Reaper) Start(program string, argv []string, attr *syscall.ProcAttr) (*Child, error) {
	r.starting.RLock()
	defer r.starting.RUnlock()
	pid, err := syscall.ForkExec(program, argv, attr)
	if err != nil {
		return nil, err
	}
	child := &Child{Pid: pid, Done: make(chan struct{})}
	r.mu.Lock()
	r.children[pid] = child
	r.mu.Unlock()
	return child, nil
}

func (r *Reaper) collect() {
	r.starting.Lock()
	defer r.starting.Unlock()
	for _, child := range r.known() {
		child.signalling.Lock()
		var status syscall.WaitStatus
		pid, err := wait(child.Pid, &status)
		if pid == child.Pid || err == syscall.ECHILD {
			child.collected = true
		}
		child.signalling.Unlock()
		if child.collected {
			r.deliver(child, status)
		}
	}
	if r.adopt {
		r.collectOrphans()
	}
}

func (r *Reaper) collectOrphans() {
	for {
		var status syscall.WaitStatus
		pid, err := wait(-1, &status)
		if err != nil || pid <= 0 {
			return
		}
		// A child that has ended since the first pass.
		if child := r.child(pid); child != nil {
			child.signalling.Lock()
			child.collected = true
			child.signalling.Unlock()
			r.deliver(child, status)
		}
	}
}

func (r *Reaper) deliver(child *Child, status syscall.WaitStatus) {
	r.mu.Lock()
	delete(r.children, child.Pid)
	r.mu.Unlock()
	child.Status = status
	close(child.Done)
}

func (r *Reaper) known() []*Child {
	r.mu.Lock()
	defer r.mu.Unlock()
	children := make([]*Child, 0, len(r.children))
	for _, child := range r.children {
		children = append(children, child)
	}
	return children
}

func (r *Reaper) child(pid int) *Child {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.children[pid]
}

func wait(pid int, status *syscall.WaitStatus) (int, error) {
	for {
		got, err := syscall.Wait4(pid, status, syscall.WNOHANG, nil)
		if err != syscall.EINTR {
			return got, err
		}
	}
}
