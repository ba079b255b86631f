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
	// spareThreads exist from the start. When the sandbox has used up its processes, a thread that cannot be made
	// would end the whole daemon; these are enough for as many files and forks at once.
	spareThreads = 16
	// gcPercent trades a little processor time, of which an idle daemon needs none, for a small heap.
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

// keepSmall gives memory back whenever there was work and then quiet. idle says how long nothing was asked.
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

// trim drops the heap's free pages and the pages of the program file, which the kernel finds again when they are used.
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

// readOnlyPart reads a line of /proc/self/maps; true for parts of the program that nobody can have written to.
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
