package usage

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// groups locates the control groups of this process.
type groups struct {
	// unified is true for version 2, with one directory for all controllers. Version 1 has one per controller.
	unified bool
	folders map[string]string
}

const (
	mount = "/sys/fs/cgroup"
	// hugeLimit and higher values mean "no limit" in version 1.
	hugeLimit = 1 << 60
)

// findGroups finds the control groups of this process. In a cgroup namespace the path is "/". Without one, the directory
// of the path may not be visible; then the mount point itself is the container's group.
func findGroups() groups {
	found := groups{folders: map[string]string{}}
	if _, err := os.Stat(mount + "/cgroup.controllers"); err == nil {
		found.unified = true
	}
	content, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(content)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		for controller := range strings.SplitSeq(fields[1], ",") {
			found.folders[controller] = existing(filepath.Join(mount, controller), fields[2])
		}
	}
	return found
}

func existing(base, path string) string {
	folder := filepath.Join(base, path)
	if _, err := os.Stat(folder); err != nil {
		return base
	}
	return folder
}

func (g groups) text(controller, file string) string {
	if g.unified {
		controller = ""
	}
	folder, ok := g.folders[controller]
	if !ok {
		return ""
	}
	content, _ := os.ReadFile(filepath.Join(folder, file))
	return strings.TrimSpace(string(content))
}

// number reads a file, whose name depends on the version. It returns nil if it is missing or there is no limit.
func (g groups) number(controller, second, first string) *uint64 {
	file := first
	if g.unified {
		file = second
	}
	value, err := strconv.ParseUint(g.text(controller, file), 10, 64)
	if err != nil || value >= hugeLimit {
		return nil
	}
	return &value
}
