package files

import (
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// fileEntry is an entry of a directory listing.
type fileEntry struct {
	Name       string `json:"name"`
	Size       int64  `json:"size"`
	Type       string `json:"type"`
	ModifiedAt string `json:"modified_at"`
	Mode       string `json:"mode"`
}

func newFileEntry(name string, stat *unix.Stat_t) fileEntry {
	kind := "file"
	if isKind(stat, unix.S_IFDIR) {
		kind = "directory"
	}
	return fileEntry{
		Name: name, Size: stat.Size, Type: kind, Mode: modeText(stat),
		ModifiedAt: modified(stat).UTC().Format("2006-01-02T15:04:05Z"),
	}
}

// fileInfo describes a file.
type fileInfo struct {
	Path       string `json:"path"`
	Name       string `json:"name"`
	Size       int64  `json:"size"`
	Type       string `json:"type"`
	Mode       string `json:"mode"`
	UID        uint32 `json:"uid"`
	GID        uint32 `json:"gid"`
	ModifiedAt string `json:"modified_at"`
	ETag       string `json:"etag,omitempty"`
	Target     string `json:"target,omitempty"`
	// Attributes are extended attributes, if the client wants them.
	Attributes map[string]string `json:"attributes,omitempty"`
}

func newFileInfo(rel, name string, stat *unix.Stat_t) fileInfo {
	if rel == "." {
		rel, name = "", "/"
	}
	info := fileInfo{
		Path: "/" + rel, Name: name, Size: stat.Size, Type: kindName(stat), Mode: modeText(stat),
		UID: stat.Uid, GID: stat.Gid, ModifiedAt: modified(stat).UTC().Format(time.RFC3339Nano),
	}
	if isKind(stat, unix.S_IFREG) {
		info.ETag = ETag(stat)
	}
	return info
}

func kindName(stat *unix.Stat_t) string {
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "file"
	case unix.S_IFDIR:
		return "directory"
	case unix.S_IFLNK:
		return "symlink"
	case unix.S_IFIFO:
		return "fifo"
	case unix.S_IFSOCK:
		return "socket"
	}
	return "device"
}

func isKind(stat *unix.Stat_t, kind uint32) bool { return stat.Mode&unix.S_IFMT == kind }

func modeText(stat *unix.Stat_t) string { return fmt.Sprintf("%04o", stat.Mode&uint32(fs.ModePerm)) }

func modified(stat *unix.Stat_t) time.Time { return time.Unix(stat.Mtim.Unix()) }

// ETag returns a tag that changes whenever the content may have changed. It includes inode, size and ctime, which unlike
// mtime cannot be set by programs.
func ETag(stat *unix.Stat_t) string {
	return fmt.Sprintf(`"%x-%x-%x"`, stat.Ino, stat.Size, stat.Ctim.Nano())
}
