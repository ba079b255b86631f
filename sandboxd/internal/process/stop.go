package process

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// stopPatience is how long StopAll waits. Only processes in uninterruptible calls need more than a few milliseconds.
	stopPatience = time.Second
	// orderPatience is how long children wait for such a parent.
	orderPatience = stopPatience / 2
	firstPause    = 100 * time.Microsecond
)

// Stopped are the processes that StopAll has stopped, parents before their children.
type Stopped []int

// StopAll stops the processes of the sandbox except this one, and returns how many still run. Starts must be held back.
//
// As process 1 it stops every other process that it sees. Otherwise other processes may not be its own, so it stops its
// descendants and what API clients started.
//
// A child is stopped after its parent stands still, and continued before it. So no parent notices that a child was
// stopped: the kernel forgets this when the child continues. Processes that were stopped before are left as they are.
func (m *Manager) StopAll() (Stopped, int) {
	s := &stopping{sent: map[int]bool{}, denied: map[int]bool{}}
	began, pause := time.Now(), firstPause
	for {
		inOrder := time.Since(began) < orderPatience
		sent, running := s.pass(m.members(), inOrder)
		// A process may have been created after the list of processes was read and before its parent was stopped. The
		// next list shows it.
		if s.quiet == 2 || time.Since(began) > stopPatience {
			return s.stopped, running
		}
		if sent > 0 {
			pause = firstPause
		}
		if s.quiet == 0 {
			time.Sleep(pause)
			pause = min(2*pause, 20*time.Millisecond)
		}
	}
}

type stopping struct {
	stopped Stopped
	// sent are the processes that got the signal, denied those that may not get it.
	sent, denied map[int]bool
	// quiet counts the passes in which nothing ran, except what may not be stopped.
	quiet int
}

// pass sends the signal to running processes, in order only to those whose parent does not run.
func (s *stopping) pass(census map[int]kin, inOrder bool) (sent, running int) {
	awaited := 0
	for _, pid := range parentsFirst(census) {
		if census[pid].stopped {
			continue
		}
		running++
		if s.denied[pid] {
			continue
		}
		awaited++
		parent, isMember := census[census[pid].parent]
		mustWait := inOrder && isMember && !parent.stopped && !s.denied[census[pid].parent]
		if mustWait || s.sent[pid] {
			continue
		}
		if syscall.Kill(pid, syscall.SIGSTOP) != nil {
			s.denied[pid] = true
			continue
		}
		s.sent[pid], s.stopped = true, append(s.stopped, pid)
		sent++
	}
	if awaited > 0 {
		s.quiet = 0
	} else {
		s.quiet++
	}
	return sent, running
}

// Continue continues the processes, children before their parents.
func (s Stopped) Continue() {
	for _, pid := range slices.Backward(s) {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
}

// members returns the processes of the sandbox except this one.
func (m *Manager) members() map[int]kin {
	if os.Getpid() == 1 {
		return takeRelations()
	}
	census := takeCensus()
	members := map[int]kin{}
	for pid, k := range census {
		if strings.HasPrefix(k.marker, m.nonce+".") || descends(census, pid) {
			members[pid] = k
		}
	}
	return members
}

// descends reports whether this process is an ancestor.
func descends(census map[int]kin, pid int) bool {
	for range len(census) {
		k, ok := census[pid]
		if !ok {
			return false
		}
		if k.parent == os.Getpid() {
			return true
		}
		pid = k.parent
	}
	return false
}

func parentsFirst(census map[int]kin) []int {
	depth := func(pid int) int {
		steps := 0
		for k, ok := census[pid]; ok && steps < len(census); k, ok = census[k.parent] {
			steps++
		}
		return steps
	}
	type placed struct{ pid, depth int }
	order := make([]placed, 0, len(census))
	for pid := range census {
		order = append(order, placed{pid, depth(pid)})
	}
	slices.SortFunc(order, func(a, b placed) int {
		if a.depth != b.depth {
			return a.depth - b.depth
		}
		return a.pid - b.pid
	})
	pids := make([]int, len(order))
	for i, each := range order {
		pids[i] = each.pid
	}
	return pids
}
