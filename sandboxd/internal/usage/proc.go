package usage

import (
	"os"
	"strings"
)

// ticksPerSecond of /proc is 100 on every Linux a program sees.
const ticksPerSecond = 100

// procCPUSeconds is for sandboxes without control groups to read: the machine they see is theirs alone.
func procCPUSeconds() float64 {
	content, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(content), "\n")
	fields := strings.Fields(line)
	if len(fields) < 5 || fields[0] != "cpu" {
		return 0
	}
	// user, nice, system; the fourth is idleness.
	return (parse(fields[1]) + parse(fields[2]) + parse(fields[3])) / ticksPerSecond
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
