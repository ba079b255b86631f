package files

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

// OpenRegular opens a regular file for reading. Other files are refused, because opening a device or FIFO has side effects
// and reading it may never end.
func OpenRegular(entry *confine.Entry, path string) (*os.File, unix.Stat_t, error) {
	stat, err := entry.Stat()
	if err != nil {
		return nil, stat, api.During("read", path, err)
	}
	if !isKind(&stat, unix.S_IFREG) {
		return nil, stat, api.Refuse(api.InvalidArgument, "Cannot read %q: it is a %s, not a regular file", path, kindName(&stat))
	}
	file, err := entry.Open(unix.O_RDONLY, 0)
	if err != nil {
		return nil, stat, api.During("read", path, err)
	}
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil || !isKind(&stat, unix.S_IFREG) {
		file.Close()
		return nil, stat, api.Refuse(api.Conflict, "Cannot read %q: it was replaced during the request", path)
	}
	return file, stat, nil
}
