package confine

import (
	"fmt"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"
)

// Entry is a name in an open directory. The file may not exist. No method follows a link at the name.
type Entry struct {
	root *Root
	dir  int
	// above is the path of a Child's directory.
	above string
	// Name is "." for the root itself.
	Name string
	// Rel is the path below the root, with links resolved.
	Rel string
}

// Close closes the directory.
func (e *Entry) Close() error { return unix.Close(e.dir) }

// IsRoot reports whether the entry is the root directory itself.
func (e *Entry) IsRoot() bool { return e.Name == "." }

// Stat describes the file.
func (e *Entry) Stat() (unix.Stat_t, error) {
	var stat unix.Stat_t
	err := unix.Fstatat(e.dir, e.Name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	return stat, err
}

// OpenOrCreate opens the file, or creates it.
func (e *Entry) OpenOrCreate(flags int, mode uint32) (*os.File, error) {
	file, err := e.Open(flags|unix.O_CREAT|unix.O_EXCL, mode)
	if err == unix.EEXIST {
		return e.Open(flags, 0)
	}
	if err != nil {
		return nil, err
	}
	if err := e.root.owner.take(int(file.Fd())); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// Open opens the file. It never blocks on a FIFO.
func (e *Entry) Open(flags int, mode uint32) (*os.File, error) {
	flags |= unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY
	fd, err := unix.Openat(e.dir, e.Name, flags, mode)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), e.Rel), nil
}

// Handle returns a descriptor for the entry without opening it for reading or writing (O_PATH).
func (e *Entry) Handle() (int, error) {
	return unix.Openat(e.dir, e.Name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// Readlink returns the target of a link.
func (e *Entry) Readlink() (string, error) {
	buffer := make([]byte, maxPathBytes)
	n, err := unix.Readlinkat(e.dir, e.Name, buffer)
	return string(buffer[:max(n, 0)]), err
}

// Mkdir creates a directory.
func (e *Entry) Mkdir(mode uint32) error {
	if err := unix.Mkdirat(e.dir, e.Name, mode); err != nil {
		return err
	}
	return e.root.owner.takeDirectory(e.dir, e.Name)
}

// Symlink creates a symbolic link. The target is not checked here, but whenever the link is followed.
func (e *Entry) Symlink(target string) error { return unix.Symlinkat(target, e.dir, e.Name) }

// Link creates a hard link to the file.
func (e *Entry) Link(to *Entry) error { return unix.Linkat(e.dir, e.Name, to.dir, to.Name, 0) }

// Rename renames the file. Without replace, an existing target is an error.
func (e *Entry) Rename(to *Entry, replace bool) error {
	if replace {
		return unix.Renameat(e.dir, e.Name, to.dir, to.Name)
	}
	err := unix.Renameat2(e.dir, e.Name, to.dir, to.Name, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	// The file system does not support the flag. The remaining race is only between clients of the same sandbox.
	if _, statErr := to.Stat(); statErr == nil {
		return unix.EEXIST
	}
	return unix.Renameat(e.dir, e.Name, to.dir, to.Name)
}

// Remove removes a file, a link or an empty directory.
func (e *Entry) Remove() error {
	err := unix.Unlinkat(e.dir, e.Name, 0)
	if err == unix.EISDIR || err == unix.EPERM {
		if dirErr := unix.Unlinkat(e.dir, e.Name, unix.AT_REMOVEDIR); dirErr != unix.ENOTDIR {
			return dirErr
		}
	}
	return err
}

// Chmod changes the mode. Links have none.
func (e *Entry) Chmod(mode uint32) error {
	fd, err := e.Handle()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		return fmt.Errorf("%w: a link has no mode of its own", unix.EINVAL)
	}
	return unix.Chmod(DescriptorPath(fd), mode)
}

// Child returns the entry with this name in the directory e. The caller must close it.
func (e *Entry) Child(name string) (*Entry, error) {
	fd, err := unix.Openat(e.dir, e.Name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	above := e.Rel
	if e.IsRoot() {
		above = ""
	}
	return &Entry{root: e.root, dir: fd, above: above, Name: name, Rel: path.Join(above, name)}, nil
}

// Sibling returns another name in the directory of a Child. It is valid until the child is closed, and must not be closed.
func (e *Entry) Sibling(name string) *Entry {
	return &Entry{root: e.root, dir: e.dir, above: e.above, Name: name, Rel: path.Join(e.above, name)}
}

// DescriptorPath returns a path that refers to an open descriptor of this process.
func DescriptorPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
