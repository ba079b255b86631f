package process

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// kin describes how a process is related to others.
type kin struct {
	parent, group, session int
	// stopped is true for a process that a signal or a debugger has stopped.
	stopped bool
	// marker is the value of markerVariable in its environment.
	marker   string
	readable bool
}

// killPatience is how long a tree is killed repeatedly. Only processes in uninterruptible calls survive that long.
const killPatience = 5 * time.Second

// tree lists the running processes that p started: its descendants, its group and session, and processes with its
// marker, which may have been orphaned. Only a process that has left the session, lost its parents and cleared its
// environment is not found.
func (p *Process) tree(census map[int]kin) []int {
	alive := !p.child.Collected()
	members := map[int]bool{}
	for pid, k := range census {
		related := pid == p.child.Pid || k.group == p.child.Pid || k.session == p.child.Pid
		if k.marker == p.marker || (related && (alive || !k.readable)) {
			members[pid] = true
		}
	}
	for changed := true; changed; {
		changed = false
		for pid, k := range census {
			if !members[pid] && members[k.parent] {
				members[pid], changed = true, true
			}
		}
	}
	pids := make([]int, 0, len(members))
	for pid := range members {
		pids = append(pids, pid)
	}
	return pids
}

// SignalTree sends a signal to the whole tree once.
func (p *Process) SignalTree(signal syscall.Signal) {
	for _, pid := range p.tree(takeCensus()) {
		_ = syscall.Kill(pid, signal)
	}
}

// KillTree kills the tree, repeatedly until nothing of it is left.
func (p *Process) KillTree() { killTrees([]*Process{p}) }

// KillTreeUnlessEnded kills the tree of a running process. It is used when the client has disconnected.
func (p *Process) KillTreeUnlessEnded() {
	if p.Running() {
		p.KillTree()
	}
}

// killTrees first kills the process groups, each with one call that cannot race with fork, and then the processes that
// have left them.
func killTrees(hunted []*Process) {
	for _, p := range hunted {
		p.child.SignalGroup(syscall.SIGKILL)
	}
	pause := time.Millisecond
	for deadline := time.Now().Add(killPatience); time.Now().Before(deadline); {
		census, found := takeCensus(), false
		for _, p := range hunted {
			for _, pid := range p.tree(census) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				found = true
			}
		}
		if !found {
			return
		}
		time.Sleep(pause)
		pause = min(2*pause, 50*time.Millisecond)
	}
}

// takeCensus reads the relations of all processes except this one and zombies, and their markers.
func takeCensus() map[int]kin {
	census := takeRelations()
	for pid, k := range census {
		k.marker, k.readable = readMarker(pid)
		census[pid] = k
	}
	return census
}

// takeRelations is takeCensus without markers, which cost most of its time.
func takeRelations() map[int]kin {
	census := map[int]kin{}
	proc, err := os.Open("/proc")
	if err != nil {
		return census
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		if k, ok := readKin(pid); ok {
			census[pid] = k
		}
	}
	return census
}

func readKin(pid int) (kin, bool) {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return kin{}, false
	}
	// The name in parentheses may itself contain parentheses, so it ends at the last one.
	fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	if len(fields) < 4 || fields[0] == "Z" || fields[0] == "X" {
		return kin{}, false
	}
	numbers := [3]int{}
	for i := range numbers {
		if numbers[i], err = strconv.Atoi(fields[i+1]); err != nil {
			return kin{}, false
		}
	}
	return kin{parent: numbers[0], group: numbers[1], session: numbers[2], stopped: fields[0] == "T" || fields[0] == "t"}, true
}
