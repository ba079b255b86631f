package files

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/api"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
)

const defaultMode = 0o644

var modePattern = regexp.MustCompile(`^0[0-7]{3}$`)

// put serves PUT: it writes a whole file, a range of it (Content-Range), or appends to it (append=true).
func (h *Handler) put(w http.ResponseWriter, r *http.Request, path string) error {
	mode, err := queryMode(r)
	if err != nil {
		return err
	}
	atEnd, err := api.Flag(r, "append")
	if err != nil {
		return err
	}
	offset, length, ranged, err := contentRange(r.Header.Get("Content-Range"))
	if err != nil {
		return err
	}
	if ranged && atEnd {
		return api.Refuse(api.InvalidArgument, "Cannot write %q: append and Content-Range cannot be combined", path)
	}
	entry, err := h.locate("write", path, confine.Lookup{MakeParents: true})
	if err != nil {
		return err
	}
	defer entry.Close()
	previous, err := precondition(r, entry, path)
	if err != nil {
		return err
	}
	source, err := content(r)
	if err != nil {
		return err
	}
	if ranged || atEnd {
		err = writeInPlace(entry, source, patch{offset, length, atEnd}, mode)
	} else {
		err = Store(entry, source, chooseMode(mode, previous), true)
	}
	if err != nil {
		return api.During("write", path, err)
	}
	if stat, err := entry.Stat(); err == nil {
		w.Header().Set("ETag", ETag(&stat))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func queryMode(r *http.Request) (*uint32, error) {
	if !r.URL.Query().Has("mode") {
		return nil, nil
	}
	return parseMode(r.URL.Query().Get("mode"))
}

func parseMode(text string) (*uint32, error) {
	if !modePattern.MatchString(text) {
		return nil, api.Refuse(api.InvalidArgument, "Cannot use mode %q: want four octal digits that begin with 0, such as 0644", text)
	}
	parsed, err := strconv.ParseUint(text, 8, 32)
	mode := uint32(parsed)
	return &mode, err
}

// chooseMode keeps the mode of an overwritten file unless the client sets one.
func chooseMode(asked *uint32, previous *unix.Stat_t) uint32 {
	switch {
	case asked != nil:
		return *asked
	case previous != nil:
		return previous.Mode & 0o777
	}
	return defaultMode
}

// precondition checks If-Match and If-None-Match, and that the target is not a directory. It returns the existing file.
func precondition(r *http.Request, entry *confine.Entry, path string) (*unix.Stat_t, error) {
	stat, err := entry.Stat()
	match, noneMatch := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	if err != nil {
		if !errors.Is(err, unix.ENOENT) {
			return nil, api.During("write", path, err)
		}
		if match != "" {
			return nil, api.Refuse(api.FailedPrecondition, "Cannot write %q: If-Match is set and the file does not exist", path)
		}
		return nil, nil
	}
	switch {
	case isKind(&stat, unix.S_IFDIR):
		return nil, api.Refuse(api.InvalidArgument, "Cannot write %q: it is a directory", path)
	case noneMatch == "*", noneMatch != "" && noneMatch == ETag(&stat):
		return nil, api.Refuse(api.FailedPrecondition, "Cannot write %q: it exists", path)
	case match != "" && match != "*" && match != ETag(&stat):
		return nil, api.Refuse(api.FailedPrecondition, "Cannot write %q: it has changed, its ETag is %s now", path, ETag(&stat))
	}
	return &stat, nil
}

// content returns the body, or the part named "file" of a multipart body.
func content(r *http.Request) (io.Reader, error) {
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "multipart/form-data" {
		return body{r.Body}, nil
	}
	if params["boundary"] == "" {
		return nil, api.Refuse(api.InvalidArgument, "Cannot read the multipart body: no boundary")
	}
	parts := multipart.NewReader(r.Body, params["boundary"])
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF {
			return nil, api.Refuse(api.InvalidArgument, `Cannot read the multipart body: no part named "file"`)
		}
		if err != nil {
			return nil, api.Refuse(api.InvalidArgument, "Cannot read the multipart body: %v", err)
		}
		if part.FormName() == "file" {
			return body{part}, nil
		}
	}
}

// body reports an incomplete body as a client error.
type body struct{ from io.Reader }

func (b body) Read(into []byte) (int, error) {
	n, err := b.from.Read(into)
	if err != nil && err != io.EOF {
		err = api.Refuse(api.InvalidArgument, "Cannot read the body: %v", err)
	}
	return n, err
}

// Store replaces an entry by new content atomically.
func Store(entry *confine.Entry, source io.Reader, mode uint32, durable bool) error {
	replacement, err := entry.Replace()
	if err != nil {
		return err
	}
	defer replacement.Discard()
	if _, err := copyBuffered(replacement.File, source); err != nil {
		return err
	}
	return replacement.Commit(mode, durable)
}

// copyBuffered copies a stream with a buffer size that suits sockets and disks.
func copyBuffered(to io.Writer, from io.Reader) (int64, error) {
	// Without this, io.CopyBuffer would use ReaderFrom instead of our buffer.
	return io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, make([]byte, 128<<10))
}

// ModeFor returns the default mode of new content at an entry.
func ModeFor(entry *confine.Entry) uint32 {
	if stat, err := entry.Stat(); err == nil {
		return chooseMode(nil, &stat)
	}
	return defaultMode
}
