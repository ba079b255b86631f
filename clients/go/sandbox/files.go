package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// FileType is the type of a directory entry.
type FileType string

// The types of directory entries.
const (
	FileTypeFile      FileType = "file"
	FileTypeDirectory FileType = "directory"
	FileTypeSymlink   FileType = "symlink"
	FileTypeOther     FileType = "other"
)

// FileEntry is an entry of a directory.
type FileEntry struct {
	Name string   `json:"name"`
	Size int64    `json:"size"`
	Type FileType `json:"type"`
	// Mode as in "0644".
	Mode    string    `json:"mode"`
	ModTime time.Time `json:"modified_at"`
}

// FileInfo describes a file.
type FileInfo struct {
	FileEntry
	Path string `json:"path"`
	UID  int    `json:"uid"`
	GID  int    `json:"gid"`
	// ETag changes with the content.
	ETag string `json:"etag"`
	// Target of a symbolic link.
	Target string `json:"target"`
}

// Files reads and writes files in a sandbox. Relative paths start at the root that the runtime serves.
type Files struct{ handle }

// WithMode sets the mode of a file that is written or a directory that is created, as in "0755".
func WithMode(mode string) CallOption { return func(o *callOptions) { o.mode = mode } }

// WithCreateOnly lets a write fail if the file exists.
func WithCreateOnly() CallOption { return func(o *callOptions) { o.createOnly = true } }

// WithRange reads the bytes first to last, both included. With a negative last: to the end.
func WithRange(first, last int64) CallOption {
	return func(o *callOptions) { o.first, o.last, o.hasRange, o.toLast = first, last, true, last < 0 }
}

// Read returns the content of a file.
func (f *Files) Read(ctx context.Context, path string, options ...CallOption) ([]byte, error) {
	reader, err := f.Open(ctx, path, options...)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	content, err := io.ReadAll(reader)
	if err != nil {
		return nil, ended(ctx, lost(fmt.Sprintf("Cannot read %q", path), err, true))
	}
	return content, nil
}

// Open returns the content of a file as a stream. The caller closes it.
func (f *Files) Open(ctx context.Context, path string, options ...CallOption) (io.ReadCloser, error) {
	o := optionsOf(options)
	encoded, err := encodePath(path)
	if err != nil {
		return nil, err
	}
	header := map[string]string{}
	if o.hasRange && o.toLast {
		header["Range"] = fmt.Sprintf("bytes=%d-", o.first)
	} else if o.hasRange {
		header["Range"] = fmt.Sprintf("bytes=%d-%d", o.first, o.last)
	}
	response, err := f.rest(ctx, restCall{doing: fmt.Sprintf("Cannot read %q", path), method: http.MethodGet, path: "/files/" + encoded, header: header})
	if err != nil {
		return nil, err
	}
	return response.Body, nil
}

// Write replaces a file at once: readers see the old or the new content. It creates parent directories.
func (f *Files) Write(ctx context.Context, path string, content []byte, options ...CallOption) error {
	return f.put(ctx, path, restCall{body: content}, optionsOf(options))
}

// WriteFrom is like Write with a stream, which can be sent only once.
func (f *Files) WriteFrom(ctx context.Context, path string, content io.Reader, options ...CallOption) error {
	return f.put(ctx, path, restCall{stream: content}, optionsOf(options))
}

// Append adds to the end of a file, which is created if it does not exist.
func (f *Files) Append(ctx context.Context, path string, content []byte) error {
	return f.put(ctx, path, restCall{body: content, query: url.Values{"append": {"true"}}, unrepeatable: true}, callOptions{})
}

func (f *Files) put(ctx context.Context, path string, c restCall, o callOptions) error {
	encoded, err := encodePath(path)
	if err != nil {
		return err
	}
	c.doing, c.method, c.path = fmt.Sprintf("Cannot write %q", path), http.MethodPut, "/files/"+encoded
	c.header = map[string]string{"Content-Type": "application/octet-stream"}
	if o.createOnly {
		// A repeated write would find its own effect.
		c.header["If-None-Match"], c.unrepeatable = "*", true
	}
	if o.mode != "" {
		c.query = url.Values{"mode": {o.mode}}
	}
	response, err := f.rest(ctx, c)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// List returns the entries of a directory, sorted by name. It is never nil.
func (f *Files) List(ctx context.Context, path string) ([]FileEntry, error) {
	encoded, err := encodePath(path)
	if err != nil {
		return nil, err
	}
	doing := fmt.Sprintf("Cannot list %q", path)
	entries := []FileEntry{}
	for query := (url.Values{"limit": {"10000"}}); ; {
		response, err := f.rest(ctx, restCall{doing: doing, method: http.MethodGet, path: "/files/" + encoded, query: query})
		if err != nil {
			return nil, err
		}
		page, err := readPage(ctx, response, doing)
		if err != nil {
			return nil, err
		}
		entries = append(entries, page...)
		if response.Header.Get("X-More-Entries") != "true" {
			return entries, nil
		}
		query.Set("after", page[len(page)-1].Name)
	}
}

// Stat describes a file.
func (f *Files) Stat(ctx context.Context, path string) (*FileInfo, error) {
	encoded, err := encodePath(path)
	if err != nil {
		return nil, err
	}
	info := &FileInfo{}
	return info, f.json(ctx, restCall{doing: fmt.Sprintf("Cannot stat %q", path), method: http.MethodGet, path: "/stat/" + encoded}, nil, info)
}

// Exists reports whether a file exists.
func (f *Files) Exists(ctx context.Context, path string) (bool, error) {
	_, err := f.Stat(ctx, path)
	if failure, ok := err.(*Error); ok && failure.Reason == NotFound && failure.Status == http.StatusNotFound {
		return false, nil
	}
	return err == nil, err
}

// Delete deletes a file, a link or an empty directory; with recursive also a directory with its content.
func (f *Files) Delete(ctx context.Context, path string, recursive bool) error {
	encoded, err := encodePath(path)
	if err != nil {
		return err
	}
	query := url.Values{}
	if recursive {
		query.Set("recursive", "true")
	}
	return f.json(ctx, restCall{doing: fmt.Sprintf("Cannot delete %q", path), method: http.MethodDelete, path: "/files/" + encoded, query: query}, nil, nil)
}

// MakeDir creates a directory and its parents.
func (f *Files) MakeDir(ctx context.Context, path string, options ...CallOption) error {
	body := map[string]any{"path": path}
	if mode := optionsOf(options).mode; mode != "" {
		body["mode"] = mode
	}
	return f.action(ctx, fmt.Sprintf("Cannot create directory %q", path), "mkdir", body)
}

// Move moves a file. It does not replace another one.
func (f *Files) Move(ctx context.Context, from, to string) error {
	return f.action(ctx, fmt.Sprintf("Cannot move %q", from), "move", map[string]any{"from": from, "to": to})
}

// Copy copies a file or a directory. It does not replace another one.
func (f *Files) Copy(ctx context.Context, from, to string) error {
	return f.action(ctx, fmt.Sprintf("Cannot copy %q", from), "copy", map[string]any{"from": from, "to": to})
}

// Chmod changes the mode of a file, as in "0755".
func (f *Files) Chmod(ctx context.Context, path, mode string) error {
	return f.action(ctx, fmt.Sprintf("Cannot change the mode of %q", path), "chmod", map[string]any{"path": path, "mode": mode})
}

func (f *Files) action(ctx context.Context, doing, action string, body map[string]any) error {
	return f.json(ctx, restCall{doing: doing, method: http.MethodPost, path: "/fs/" + action}, body, nil)
}

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

func readPage(ctx context.Context, response *http.Response, doing string) ([]FileEntry, error) {
	defer response.Body.Close()
	if response.Header.Get("X-File-Mode") != "" {
		return nil, failf(InvalidArgument, "%s: it is not a directory", doing)
	}
	var page struct{ Entries []FileEntry }
	if err := json.NewDecoder(response.Body).Decode(&page); err != nil {
		return nil, ended(ctx, lost(doing, err, true))
	}
	return page.Entries, nil
}
