package process

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// readMarker returns the marker in a process's environment. It reports false if the environment cannot be read.
func readMarker(pid int) (marker string, readable bool) {
	env, err := readEnvironment(pid)
	if err != nil {
		return "", false
	}
	for pair := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(pair, []byte(markerVariable+"=")); ok {
			return string(value), true
		}
	}
	return "", true
}

// readEnvironment reads the environment of any process. In a container, root may not be allowed to read that of other
// users' processes. Then it is read as the process's own user.
func readEnvironment(pid int) ([]byte, error) {
	folder := "/proc/" + strconv.Itoa(pid)
	env, err := os.ReadFile(folder + "/environ")
	if !errors.Is(err, os.ErrPermission) || os.Geteuid() != 0 {
		return env, err
	}
	var stat unix.Stat_t
	if unix.Stat(folder, &stat) != nil || stat.Uid == 0 {
		return nil, err
	}
	read := func() { env, err = os.ReadFile(folder + "/environ") }
	// Linux checks the effective user. gVisor checks the real one, and with that other processes of the user may signal us.
	if asUser(user{stat.Uid, stat.Gid, false}, read); errors.Is(err, os.ErrPermission) {
		asUser(user{stat.Uid, stat.Gid, true}, read)
	}
	return env, err
}

type user struct {
	uid, gid uint32
	real     bool
}

// asUser runs a function with the rights of another user, in this thread only. The saved user id stays root, which
// allows to return to root and keeps the other user from tracing the thread.
func asUser(who user, do func()) {
	runtime.LockOSThread()
	group := uint32(os.Getegid())
	if setUser(unix.SYS_SETRESGID, who.gid, who.real) == nil && setUser(unix.SYS_SETRESUID, who.uid, who.real) == nil {
		do()
	}
	if setUser(unix.SYS_SETRESUID, 0, true) != nil || setUser(unix.SYS_SETRESGID, group, true) != nil {
		panic("cannot become root again: the thread would serve other calls as the wrong user")
	}
	// A change of the user id may reset it.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	runtime.UnlockOSThread()
}

// setUser changes the user id of this thread. The standard library would change it for all threads.
func setUser(call uintptr, id uint32, alsoReal bool) error {
	const same = ^uintptr(0)
	real := same
	if alsoReal {
		real = uintptr(id)
	}
	if _, _, errno := syscall.RawSyscall(call, real, uintptr(id), same); errno != 0 {
		return errno
	}
	return nil
}
