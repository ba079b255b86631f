package confine

import (
	"os"

	"golang.org/x/sys/unix"
)

// Owner is the owner of new files and directories. If it is nil, they belong to the daemon's user.
type Owner struct{ UID, GID int }

// Own sets the owner of files that are created from now on. Links keep the daemon's user, which has no effect on them.
func (r *Root) Own(owner Owner) { r.owner = &owner }

// As returns the same root with another owner of new files.
func (r *Root) As(owner Owner) *Root { return &Root{directory: r.directory, owner: &owner} }

// take changes the owner of an open file that the daemon has just created.
func (o *Owner) take(fd int) error {
	if o == nil {
		return nil
	}
	return unix.Fchown(fd, o.UID, o.GID)
}

// takeDirectory changes the owner of a directory that has just been created. The owner may have replaced it by something
// else, so only a directory that belongs to the daemon is changed.
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
