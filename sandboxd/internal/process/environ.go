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

// readMarker gives the marker in a process's environment; unreadable when nobody may look at it.
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

// readEnvironment reads that of any process. In a container root may not look into processes of other users, but each
// user into their own: then it is read as that user.
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
	// Most kernels ask for the effective user. gVisor asks for the real one, whom others of that user may signal.
	if asUser(user{stat.Uid, stat.Gid, false}, read); errors.Is(err, os.ErrPermission) {
		asUser(user{stat.Uid, stat.Gid, true}, read)
	}
	return env, err
}

type user struct {
	uid, gid uint32
	real     bool
}

// asUser does something with the rights of another user, in this thread alone. The saved user stays root, who is
// returned to, and keeps the other one from tracing the thread meanwhile.
func asUser(who user, do func()) {
	runtime.LockOSThread()
	group := uint32(os.Getegid())
	if setUser(unix.SYS_SETRESGID, who.gid, who.real) == nil && setUser(unix.SYS_SETRESUID, who.uid, who.real) == nil {
		do()
	}
	if setUser(unix.SYS_SETRESUID, 0, true) != nil || setUser(unix.SYS_SETRESGID, group, true) != nil {
		panic("Cannot become root again: the thread would serve others as the wrong user")
	}
	// A change of users may undo it.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	runtime.UnlockOSThread()
}

// setUser changes the ids of this thread; the standard library's functions change those of all.
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
