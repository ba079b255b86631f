package usage

import (
	"os"
	"path/filepath"
	"strings"
)

// ticksPerSecond is USER_HZ, which is 100 on all supported architectures.
const ticksPerSecond = 100

// procCPUSeconds is used if no control group is readable, as in gVisor, where /proc shows only the sandbox.
func procCPUSeconds() float64 {
	content, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(content), "\n")
	fields := strings.Fields(line)
	if len(fields) < 5 || fields[0] != "cpu" {
		return 0
	}
	// user, nice and system; the fourth is idle time.
	if seconds := (parse(fields[1]) + parse(fields[2]) + parse(fields[3])) / ticksPerSecond; seconds > 0 {
		return seconds
	}
	// gVisor has no total.
	return sumCPUSeconds()
}

// sumCPUSeconds adds up the time of all processes and of the children that they have waited for.
func sumCPUSeconds() float64 {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	ticks := 0.0
	for _, file := range files {
		content, _ := os.ReadFile(file)
		ticks += processTicks(string(content))
	}
	return ticks / ticksPerSecond
}

// processTicks adds up utime, stime, cutime and cstime, the 12th to 15th field after the name.
func processTicks(stat string) float64 {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 15 {
		return 0
	}
	ticks := 0.0
	for _, field := range fields[11:15] {
		ticks += parse(field)
	}
	return ticks
}

func procMemory() uint64 {
	content, _ := os.ReadFile("/proc/meminfo")
	values := map[string]float64{}
	for line := range strings.Lines(string(content)) {
		name, rest, _ := strings.Cut(line, ":")
		values[name] = parse(strings.TrimSuffix(strings.TrimSpace(rest), " kB")) * 1024
	}
	return uint64(max(0, values["MemTotal"]-values["MemAvailable"]))
}
