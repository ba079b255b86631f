// Package confine opens files below one directory and nowhere else.
//
// A path is resolved component by component, relative to the descriptor of the previous one and without following links.
// This package resolves links itself. So code in the sandbox cannot replace a component between a check and its use.
// openat2 is not used, because absolute links inside the root must work and not every kernel of a sandbox has it.
package confine

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrOutside is returned if a path leaves the root, by itself or through a link.
var ErrOutside = errors.New("the path leaves the root directory")

const (
	// maxLinks is the kernel's limit of links in a path.
	maxLinks = 40
	// maxPathBytes is PATH_MAX.
	maxPathBytes = 4096
)

// Root is a directory that no path given to it can leave.
type Root struct {
	*directory
	owner *Owner
}

// directory is shared by the roots that differ in the owner of new files.
type directory struct {
	mu sync.RWMutex
	fd int
	// path is the directory with links resolved, given is the path that was passed to Open.
	path, given string
}

// Open returns the root at dir, which must exist.
func Open(dir string) (*Root, error) {
	given, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	resolved, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Open(resolved, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: resolved, Err: err}
	}
	return &Root{directory: &directory{fd: fd, path: resolved, given: given}}, nil
}

// descriptor returns a new descriptor of the directory. If code in the sandbox has deleted it, it is opened again by its
// path, or created. The caller must close it.
func (r *Root) descriptor() (int, error) {
	r.mu.RLock()
	var stat unix.Stat_t
	err := unix.Fstat(r.fd, &stat)
	dir, dupErr := unix.FcntlInt(uintptr(r.fd), unix.F_DUPFD_CLOEXEC, 3)
	r.mu.RUnlock()
	if dupErr != nil {
		return -1, dupErr
	}
	if err != nil || stat.Nlink > 0 {
		return dir, err
	}
	unix.Close(dir)
	return r.replace()
}

func (r *Root) replace() (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := os.MkdirAll(r.path, 0o755); err != nil {
		return -1, err
	}
	if err := r.owner.takeDirectory(unix.AT_FDCWD, r.path); err != nil {
		return -1, err
	}
	fd, err := unix.Open(r.path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	unix.Close(r.fd)
	r.fd = fd
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
}

// Path returns the absolute path of the directory, with links resolved.
func (r *Root) Path() string { return r.path }

// Close closes the root. Entries that were located before stay valid.
func (r *Root) Close() error { return unix.Close(r.fd) }

// Rel converts a path from a request into a path relative to the root, "." for the root itself. With the root /workspace,
// "a", "/a" and "/workspace/a" are the same file.
func (r *Root) Rel(user string) (string, error) {
	if err := checkPath(user); err != nil {
		return "", err
	}
	cleaned := path.Clean(user)
	for _, root := range []string{r.path, r.given} {
		if rest, ok := below(root, cleaned); ok {
			return rest, nil
		}
	}
	return Join(cleaned)
}

// Join is like Rel without regard to the root's own path.
func Join(user string) (string, error) {
	if err := checkPath(user); err != nil {
		return "", err
	}
	// Clean would drop leading ".." of an absolute path instead of reporting it.
	cleaned := path.Clean(strings.TrimLeft(user, "/"))
	if strings.HasPrefix(user, "/") {
		cleaned = path.Clean("/" + cleaned)[1:]
	}
	if cleaned == ".." || strings.HasPrefix(cleaned, "../") {
		return "", ErrOutside
	}
	if cleaned == "" {
		return ".", nil
	}
	return cleaned, nil
}

func checkPath(user string) error {
	switch {
	case len(user) > maxPathBytes:
		return unix.ENAMETOOLONG
	case strings.ContainsRune(user, 0):
		return fmt.Errorf("%w: the path contains a NUL byte", unix.EINVAL)
	}
	return nil
}

// below returns the part of an absolute path below root.
func below(root, absolute string) (string, bool) {
	if absolute == root {
		return ".", true
	}
	// For the root "/" the prefix is empty.
	rest, ok := strings.CutPrefix(absolute, strings.TrimSuffix(root, "/")+"/")
	if !ok || rest == "" {
		return ".", ok
	}
	return rest, true
}

// Below returns the directory at an entry as a root. The caller must close it.
func (r *Root) Below(e *Entry) (*Root, error) {
	fd, err := unix.Openat(e.dir, e.Name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	name := path.Join(r.path, e.Rel)
	return &Root{directory: &directory{fd: fd, path: name, given: name}, owner: r.owner}, nil
}
