// Package confine opens files below one directory and nowhere else.
//
// A path is walked component by component, each step relative to the descriptor of the step before and never
// following a link; links are read and walked by this package. So there is no moment between a check and an open in
// which code in the sandbox could swap a component. (openat2 would say the same in one call, but absolute links that
// stay inside the root must work, and not every kernel a sandbox runs on has it.)
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

// ErrOutside says that a path leaves the root, by itself or through a link.
var ErrOutside = errors.New("the path leaves the root directory")

const (
	// maxLinks is the kernel's own bound on links in one path.
	maxLinks = 40
	// maxPathBytes is PATH_MAX: no longer name can be opened by a program in the sandbox either.
	maxPathBytes = 4096
)

// Root is a directory that no path given to it can leave.
type Root struct {
	mu sync.RWMutex
	fd int
	// path is the directory with its links resolved; given is how its owner wrote it.
	path, given string
	owner       *Owner
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
	return &Root{fd: fd, path: resolved, given: given}, nil
}

// descriptor gives the directory anew, for the caller to close. Code in the sandbox may have deleted it: then the one
// that has its name now takes its place, or a fresh one.
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

// Path is the directory's absolute name, without links.
func (r *Root) Path() string { return r.path }

// Close releases the root; entries located before stay valid.
func (r *Root) Close() error { return unix.Close(r.fd) }

// Rel turns what a caller wrote into a path relative to the root, "." for the root itself. A leading slash means the
// root, and a path that already begins with the root's own name means itself: with the root /workspace, "a", "/a" and
// "/workspace/a" are one file.
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

// Join turns what a caller wrote into a path relative to the root, without knowledge of the root's name.
func Join(user string) (string, error) {
	if err := checkPath(user); err != nil {
		return "", err
	}
	// Only a relative path can climb: Clean drops leading ".." of an absolute one.
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

// below gives the part of an absolute path that lies below root.
func below(root, absolute string) (string, bool) {
	if absolute == root {
		return ".", true
	}
	// The root directory "/" would need no prefix at all; a leading slash already means it.
	rest, ok := strings.CutPrefix(absolute, strings.TrimSuffix(root, "/")+"/")
	if !ok || rest == "" {
		return ".", ok
	}
	return rest, true
}

// Below makes the directory at an entry a root of its own. The caller closes it.
func (r *Root) Below(e *Entry) (*Root, error) {
	fd, err := unix.Openat(e.dir, e.Name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	name := path.Join(r.path, e.Rel)
	return &Root{fd: fd, path: name, given: name, owner: r.owner}, nil
}
