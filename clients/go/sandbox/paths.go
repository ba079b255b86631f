package sandbox

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// encodePath returns the path as part of a URL. HTTP clients resolve "." and ".." themselves, so this does it first: a path that
// leaves the root must be an error and not another file.
func encodePath(path string) (string, error) {
	var names []string
	for name := range strings.SplitSeq(path, "/") {
		switch {
		case name == "" || name == ".":
		case name != "..":
			names = append(names, url.PathEscape(name))
		case len(names) == 0:
			return "", failf(Forbidden, "Cannot use path %q: it leaves the root", path)
		default:
			names = names[:len(names)-1]
		}
	}
	return strings.Join(names, "/"), nil
}

// checkUpload refuses paths that cannot name a file, and content that is too large.
func checkUpload(path string, content []byte, maxBytes int64) error {
	isBad := path == "." || path == ".." || strings.HasSuffix(path, "/") || slices.Contains(strings.Split(path, "/"), "..") ||
		strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f })
	if isBad {
		return failf(InvalidArgument, "Cannot write %q: it is not the path of a file below the root", path)
	}
	if int64(len(content)) > maxBytes {
		return failf(LimitExceeded, "Cannot write %q: %d bytes are more than MaxUploadSize, %d bytes", path, len(content), maxBytes)
	}
	return nil
}

// encodeWhole encodes a path, slashes included, as one segment of a URL.
func encodeWhole(path string) string {
	switch path {
	case ".":
		return "%2E"
	case "..":
		return "%2E%2E"
	}
	var encoded strings.Builder
	for _, each := range []byte(path) {
		isPlain := each >= 'a' && each <= 'z' || each >= 'A' && each <= 'Z' || each >= '0' && each <= '9' || strings.IndexByte("-_.~", each) >= 0
		if isPlain {
			encoded.WriteByte(each)
		} else {
			fmt.Fprintf(&encoded, "%%%02X", each)
		}
	}
	return encoded.String()
}
