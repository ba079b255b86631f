package files

import (
	"io"
	"os"
	"regexp"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

// patch is the range of a file that a body replaces.
type patch struct {
	offset, length int64
	atEnd          bool
}

var rangePattern = regexp.MustCompile(`^bytes (\d{1,18})-(\d{1,18})/(?:\*|\d{1,18})$`)

// contentRange parses "bytes first-last/total". The total is ignored.
func contentRange(header string) (offset, length int64, given bool, err error) {
	if header == "" {
		return 0, 0, false, nil
	}
	match := rangePattern.FindStringSubmatch(header)
	if match == nil {
		return 0, 0, false, api.Refuse(api.InvalidArgument, `Cannot use Content-Range %q: want "bytes first-last/*"`, header)
	}
	// The pattern allows at most 18 digits, which fit.
	first, _ := strconv.ParseInt(match[1], 10, 64)
	last, _ := strconv.ParseInt(match[2], 10, 64)
	if last < first {
		return 0, 0, false, api.Refuse(api.InvalidArgument, "Cannot use Content-Range %q: it ends before it begins", header)
	}
	return first, last - first + 1, true, nil
}

// writeInPlace changes a part of a file, which is created if it does not exist. It is not atomic for readers.
func writeInPlace(entry *confine.Entry, body io.Reader, where patch, mode *uint32) error {
	flags := unix.O_WRONLY
	if where.atEnd {
		flags |= unix.O_APPEND
	}
	stat, err := entry.Stat()
	if err == nil && !isKind(&stat, unix.S_IFREG) {
		return api.Refuse(api.InvalidArgument, "Cannot write %q: it is a %s, not a regular file", entry.Rel, kindName(&stat))
	}
	file, err := entry.OpenOrCreate(flags, defaultMode)
	if err != nil {
		return err
	}
	defer file.Close()
	if where.atEnd {
		_, err = copyBuffered(file, body)
	} else {
		err = writeRange(file, body, where)
	}
	if err == nil && mode != nil {
		err = unix.Fchmod(int(file.Fd()), *mode)
	}
	if err != nil {
		return err
	}
	return file.Sync()
}

func writeRange(file *os.File, body io.Reader, where patch) error {
	written, err := copyBuffered(io.NewOffsetWriter(file, where.offset), io.LimitReader(body, where.length))
	if err != nil {
		return err
	}
	beyond := [1]byte{}
	if extra, _ := io.ReadFull(body, beyond[:]); extra > 0 || written < where.length {
		return api.Refuse(api.InvalidArgument, "Cannot write the range: the body does not have its %d bytes", where.length)
	}
	return nil
}
