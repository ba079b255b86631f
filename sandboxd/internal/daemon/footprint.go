package daemon

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// spareThreads are created at the start. If the sandbox has reached its limit of processes, the Go runtime would abort
	// when it cannot create a thread. These are enough for as many concurrent file operations and forks.
	spareThreads = 16
	// gcPercent trades some processor time for a small heap.
	gcPercent = 50
	trimEvery = 30 * time.Second
	trimFirst = 2 * time.Second
)

func makeThreads() {
	var started, release sync.WaitGroup
	release.Add(1)
	for range spareThreads {
		started.Add(1)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			started.Done()
			release.Wait()
		}()
	}
	started.Wait()
	release.Done()
}

// keepSmall returns memory to the system when the daemon becomes idle. idle returns the time since the last request.
func keepSmall(idle func() time.Duration) {
	debug.SetGCPercent(gcPercent)
	time.Sleep(trimFirst)
	trim()
	trimmed := time.Now()
	for range time.Tick(trimEvery) {
		quiet := idle()
		if quiet > trimEvery/2 && time.Now().Add(-quiet).After(trimmed) {
			trim()
			trimmed = time.Now()
		}
	}
}

// trim releases the free pages of the heap and the pages of the program file, which the kernel reloads when needed.
func trim() {
	debug.FreeOSMemory()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer maps.Close()
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		if start, length, ok := readOnlyPart(lines.Text(), program); ok {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, start, length, unix.MADV_DONTNEED)
		}
	}
}

// readOnlyPart parses a line of /proc/self/maps. It returns true for read-only mappings of the program.
func readOnlyPart(line, program string) (start, length uintptr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[5] != program || strings.Contains(fields[1], "w") {
		return 0, 0, false
	}
	from, to, _ := strings.Cut(fields[0], "-")
	first, err1 := strconv.ParseUint(from, 16, 64)
	last, err2 := strconv.ParseUint(to, 16, 64)
	return uintptr(first), uintptr(last - first), err1 == nil && err2 == nil
}
