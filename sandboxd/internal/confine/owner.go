package confine

import (
	"os"

	"golang.org/x/sys/unix"
)

// Owner is whom new files and directories are given to. A nil owner leaves them to the daemon.
type Owner struct{ UID, GID int }

// Own gives what is made below the root from now on to an owner. Links stay the daemon's: nobody asks whose they are.
func (r *Root) Own(owner Owner) { r.owner = &owner }

// take gives a file away that the daemon itself has just made and holds open.
func (o *Owner) take(fd int) error {
	if o == nil {
		return nil
	}
	return unix.Fchown(fd, o.UID, o.GID)
}

// takeDirectory gives a directory away that has just been made. The owner may have put something else in its place by
// now: only a directory that is the daemon's is given away.
func (o *Owner) takeDirectory(dir int, name string) error {
	if o == nil {
		return nil
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || int(stat.Uid) != os.Geteuid() {
		return err
	}
	return o.take(fd)
}
