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
	asUser(stat.Uid, stat.Gid, func() { env, err = os.ReadFile(folder + "/environ") })
	return env, err
}

// asUser does something with the rights of another user, in this thread alone. The real user stays root's, so that the
// other one may neither signal nor trace the thread meanwhile.
func asUser(uid, gid uint32, do func()) {
	runtime.LockOSThread()
	became := setEffective(unix.SYS_SETRESGID, gid) == nil && setEffective(unix.SYS_SETRESUID, uid) == nil
	if became {
		do()
	}
	if setEffective(unix.SYS_SETRESUID, 0) != nil || setEffective(unix.SYS_SETRESGID, 0) != nil {
		panic("Cannot become root again: the thread would serve others as the wrong user")
	}
	// A change of users may undo it.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	runtime.UnlockOSThread()
}

// setEffective changes the effective id of this thread; the standard library's functions change those of all.
func setEffective(call uintptr, id uint32) error {
	const same = ^uintptr(0)
	if _, _, errno := syscall.RawSyscall(call, same, uintptr(id), same); errno != 0 {
		return errno
	}
	return nil
}
