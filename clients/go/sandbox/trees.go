package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
)

// TreeEntry is a file below a directory.
type TreeEntry struct {
	FileEntry
	Path string `json:"path"`
}

// Tree returns everything below a directory.
func (f *Files) Tree(ctx context.Context, path string) iter.Seq2[TreeEntry, error] {
	return func(yield func(TreeEntry, error) bool) {
		doing := fmt.Sprintf("Cannot list %q", path)
		body, err := f.stream(ctx, "tree", path, restCall{doing: doing, method: http.MethodGet, path: "/tree/"})
		if err != nil {
			yield(TreeEntry{}, err)
			return
		}
		defer body.Close()
		lines := bufio.NewReader(body)
		for {
			var entry struct {
				TreeEntry
				Error *struct{ Message string }
			}
			switch err := readLine(lines, &entry); {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(TreeEntry{}, ended(ctx, lost(doing, err, true)))
				return
			case entry.Error != nil:
				yield(TreeEntry{}, failf(Internal, "%s: %s", doing, entry.Error.Message))
				return
			}
			if !yield(entry.TreeEntry, nil) {
				return
			}
		}
	}
}

// ReadArchive returns a directory as a tar archive. The caller closes it.
func (f *Files) ReadArchive(ctx context.Context, path string) (io.ReadCloser, error) {
	return f.stream(ctx, "read_archive", path, restCall{doing: fmt.Sprintf("Cannot read directory %q", path), method: http.MethodGet, path: "/archive/"})
}

// WriteArchive unpacks a tar archive, compressed with gzip or not, into a directory.
func (f *Files) WriteArchive(ctx context.Context, path string, archive io.Reader) error {
	call := restCall{doing: fmt.Sprintf("Cannot unpack into %q", path), method: http.MethodPut, path: "/archive/", stream: archive}
	body, err := f.stream(ctx, "write_archive", path, call)
	if err != nil {
		return err
	}
	return body.Close()
}

// FileChange is a change of a file: created, modified, attributes, deleted. "overflow" means that changes were lost.
type FileChange struct {
	Type string `json:"type"`
	Path string `json:"path"`
}

// Watch is a stream of changes of files.
type Watch struct {
	body  io.ReadCloser
	lines *bufio.Reader
	doing string
}

// Watch returns when the watch of a path is in place. It ends with the context or Close. With recursive it includes subdirectories.
func (f *Files) Watch(ctx context.Context, path string, recursive bool) (*Watch, error) {
	doing := fmt.Sprintf("Cannot watch %q", path)
	query := url.Values{"keepalive": {keepAliveSeconds}}
	if recursive {
		query.Set("recursive", "true")
	}
	body, err := f.stream(ctx, "watch", path, restCall{doing: doing, method: http.MethodGet, path: "/watch/", query: query})
	if err != nil {
		return nil, err
	}
	watch := &Watch{body: body, lines: bufio.NewReader(body), doing: doing}
	first, err := watch.Next()
	if err == nil && first.Type != "ready" {
		err = failf(Internal, "%s: the sandbox did not report that it watches", doing)
	}
	if err != nil {
		_ = body.Close()
		return nil, ended(ctx, err)
	}
	return watch, nil
}

// Next waits for the next change.
func (w *Watch) Next() (FileChange, error) {
	for {
		var change FileChange
		if err := readLine(w.lines, &change); err != nil {
			return change, lost(w.doing, err, true)
		}
		if change.Type != "keepalive" {
			return change, nil
		}
	}
}

// Close ends the watch.
func (w *Watch) Close() error { return w.body.Close() }

// stream is a call whose path ends with that of a file, and whose response is a stream.
func (f *Files) stream(ctx context.Context, name, path string, c restCall) (body io.ReadCloser, err error) {
	err = f.plain(ctx, name, path, func(ctx context.Context) error {
		encoded, err := encodePath(path)
		if err != nil {
			return err
		}
		c.path += encoded
		response, err := f.rest(ctx, c)
		if err == nil {
			body = response.Body
		}
		return err
	})
	return body, err
}

// maxLineBytes is far above what a line with a path needs.
const maxLineBytes = 64 << 10

// readLine reads a line of JSON.
func readLine(lines *bufio.Reader, into any) error {
	var line []byte
	for {
		part, err := lines.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			return json.Unmarshal(line, into)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		if len(line) > maxLineBytes {
			return errors.New("the sandbox sent a line that is too long")
		}
	}
}
