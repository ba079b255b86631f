// Package usage measures the resources that a sandbox uses, from its control group or else from /proc.
package usage

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Report is one measurement. Limits are nil if there are none.
type Report struct {
	ObservedAt time.Time `json:"observed_at"`
	CPU        CPU       `json:"cpu"`
	Memory     Memory    `json:"memory"`
	Processes  Processes `json:"processes"`
	Disk       Disk      `json:"disk"`
}

// CPU is the processor time of the sandbox and its limit in cores.
type CPU struct {
	UsedSeconds float64 `json:"used_seconds"`
	LimitCores  float64 `json:"limit_cores"`
}

// Memory is the memory of the sandbox in bytes.
type Memory struct {
	UsedBytes  uint64  `json:"used_bytes"`
	LimitBytes *uint64 `json:"limit_bytes,omitempty"`
}

// Processes counts processes and threads.
type Processes struct {
	Count int     `json:"count"`
	Limit *uint64 `json:"limit,omitempty"`
}

// Disk is the file system of the root directory.
type Disk struct {
	UsedBytes      uint64 `json:"used_bytes"`
	AvailableBytes uint64 `json:"available_bytes"`
	TotalBytes     uint64 `json:"total_bytes"`
}

// Read measures the current usage.
func Read(root string) Report {
	groups := findGroups()
	report := Report{ObservedAt: time.Now().UTC(), CPU: CPU{UsedSeconds: groups.cpuSeconds(), LimitCores: groups.cores()}}
	report.Memory.UsedBytes, report.Memory.LimitBytes = groups.memory()
	report.Processes.Count, report.Processes.Limit = countProcesses(), groups.number("pids", "pids.max", "pids.max")
	var disk unix.Statfs_t
	if unix.Statfs(root, &disk) == nil {
		size := uint64(disk.Bsize)
		report.Disk = Disk{
			UsedBytes: (disk.Blocks - disk.Bfree) * size, AvailableBytes: disk.Bavail * size, TotalBytes: disk.Blocks * size,
		}
	}
	return report
}

// CPUSeconds returns the processor time used by the sandbox so far.
func CPUSeconds() float64 { return findGroups().cpuSeconds() }

func countProcesses() int {
	proc, err := os.Open("/proc")
	if err != nil {
		return 0
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	count := 0
	for _, name := range names {
		if _, err := strconv.Atoi(name); err == nil {
			count++
		}
	}
	return count
}

func (g groups) cores() float64 {
	all := float64(runtime.NumCPU())
	var quota, period float64
	if g.unified {
		fields := strings.Fields(g.text("", "cpu.max"))
		if len(fields) == 2 {
			quota, period = parse(fields[0]), parse(fields[1])
		}
	} else {
		quota, period = parse(g.text("cpu", "cpu.cfs_quota_us")), parse(g.text("cpu", "cpu.cfs_period_us"))
	}
	if quota > 0 && period > 0 {
		return min(all, quota/period)
	}
	return all
}

func (g groups) cpuSeconds() float64 {
	if !g.unified {
		if nanos := parse(g.text("cpuacct", "cpuacct.usage")); nanos > 0 {
			return nanos / 1e9
		}
	}
	for line := range strings.Lines(g.text("", "cpu.stat")) {
		if micros, ok := strings.CutPrefix(line, "usage_usec "); ok {
			return parse(micros) / 1e6
		}
	}
	return procCPUSeconds()
}

func (g groups) memory() (used uint64, limit *uint64) {
	limit = g.number("memory", "memory.max", "memory.limit_in_bytes")
	if now := g.number("memory", "memory.current", "memory.usage_in_bytes"); now != nil {
		return *now, limit
	}
	return procMemory(), limit
}

func parse(text string) float64 {
	value, _ := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return value
}
