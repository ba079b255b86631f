package files

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

const watchMask = unix.IN_CREATE | unix.IN_DELETE | unix.IN_MODIFY | unix.IN_CLOSE_WRITE | unix.IN_ATTRIB |
	unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF

// maxAdopted is how many files of a directory that was moved in are reported individually.
const maxAdopted = 4096

// observer receives inotify events of directories.
type observer struct {
	ctx       context.Context
	root      *confine.Root
	recursive bool
	file      *os.File
	// paths maps watch descriptors to paths below the root.
	paths  map[int]string
	buffer []byte
}

func newObserver(ctx context.Context, root *confine.Root, recursive bool) (*observer, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	return &observer{
		ctx: ctx, root: root, recursive: recursive, file: os.NewFile(uintptr(fd), "inotify"),
		paths: map[int]string{}, buffer: make([]byte, 64<<10),
	}, nil
}

func (o *observer) close() { o.file.Close() }

// add watches an entry, and every directory below it if the watch is recursive.
func (o *observer) add(entry *confine.Entry) error {
	if err := o.addOne(entry); err != nil || !o.recursive || !isDirectory(entry) {
		return err
	}
	return walk{ctx: o.ctx, before: func(below *confine.Entry, stat *unix.Stat_t) error {
		if !isKind(stat, unix.S_IFDIR) {
			return nil
		}
		return o.addOne(below)
	}}.below(entry)
}

// addOne watches an entry by its descriptor, so that it cannot be replaced by a link.
func (o *observer) addOne(entry *confine.Entry) error {
	if len(o.paths) >= maxWatchedDirs {
		return errTooManyDirs
	}
	handle, err := entry.Handle()
	if err != nil {
		return err
	}
	defer unix.Close(handle)
	// Uses the os.File, which may be closed when the client disconnects. Its descriptor number could be reused then.
	raw, err := o.file.SyscallConn()
	if err != nil {
		return err
	}
	var watch int
	var failure error
	if err := raw.Control(func(fd uintptr) {
		watch, failure = unix.InotifyAddWatch(int(fd), confine.DescriptorPath(handle), watchMask)
	}); err != nil || failure != nil {
		return errors.Join(err, failure)
	}
	o.paths[watch] = entry.Rel
	return nil
}

// next waits for changes.
func (o *observer) next() ([]fileEvent, error) {
	for {
		n, err := o.file.Read(o.buffer)
		if err != nil {
			return nil, err
		}
		if events := o.parse(o.buffer[:n]); len(events) > 0 {
			return events, nil
		}
	}
}

func (o *observer) parse(data []byte) []fileEvent {
	var events []fileEvent
	for len(data) >= unix.SizeofInotifyEvent {
		watch := int(int32(binary.NativeEndian.Uint32(data)))
		mask := binary.NativeEndian.Uint32(data[4:])
		length := int(binary.NativeEndian.Uint32(data[12:]))
		name := strings.TrimRight(string(data[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+length]), "\x00")
		data = data[unix.SizeofInotifyEvent+length:]
		events = append(events, o.translate(watch, mask, name)...)
	}
	return events
}

func (o *observer) translate(watch int, mask uint32, name string) []fileEvent {
	if mask&unix.IN_Q_OVERFLOW != 0 {
		return []fileEvent{{Type: "overflow"}}
	}
	dir, known := o.paths[watch]
	if mask&unix.IN_IGNORED != 0 {
		delete(o.paths, watch)
		return nil
	}
	kind := eventType(mask)
	// The parent reports changes of a directory inside a watched one.
	own := name == "" && dir != "." && mask&(unix.IN_DELETE_SELF|unix.IN_MOVE_SELF|unix.IN_ATTRIB) != 0 && len(o.paths) > 1
	if !known || kind == "" || own || confine.IsTemporary(name) {
		return nil
	}
	rel := path.Join(dir, name)
	event := fileEvent{Type: kind, Path: "/" + strings.TrimPrefix(rel, "."), IsDir: mask&unix.IN_ISDIR != 0}
	if rel != "." {
		event.Path = "/" + rel
	}
	events := []fileEvent{event}
	if o.recursive && event.IsDir && kind == "created" {
		events = append(events, o.adopt(rel)...)
	}
	return events
}

// adopt watches a new directory and reports its content as created, since the creation was not observed.
func (o *observer) adopt(rel string) []fileEvent {
	entry, err := o.root.Locate(rel, confine.Lookup{KeepLink: true})
	if err != nil {
		return nil
	}
	defer entry.Close()
	if err := o.addOne(entry); err != nil {
		if errors.Is(err, errTooManyDirs) || errors.Is(err, unix.ENOSPC) {
			return []fileEvent{{Type: "overflow"}}
		}
		return nil
	}
	var events []fileEvent
	err = walk{ctx: o.ctx, before: func(below *confine.Entry, stat *unix.Stat_t) error {
		if len(events) >= maxAdopted {
			return errEnough
		}
		isDir := isKind(stat, unix.S_IFDIR)
		events = append(events, fileEvent{Type: "created", Path: "/" + below.Rel, IsDir: isDir})
		if isDir {
			return o.addOne(below)
		}
		return nil
	}}.below(entry)
	if err != nil {
		events = append(events, fileEvent{Type: "overflow"})
	}
	return events
}
