package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"go.opentelemetry.io/otel/attribute"
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
func (f *Files) Read(ctx context.Context, path string, options ...CallOption) (content []byte, err error) {
	o := optionsOf(options)
	err = f.operateOn(ctx, "read", path, o, func(ctx context.Context) error {
		if f.isLegacy() {
			if o.hasRange {
				return fmt.Errorf("%w: WithRange needs RuntimeSandboxd", ErrUnsupportedByRuntime)
			}
			content, err = f.legacyGet(ctx, "read", "/download/"+encodeWhole(path), f.reference.maxDownload, o)
		} else {
			content, err = f.read(ctx, path, options)
		}
		f.tracing.annotate(ctx, attribute.Int("sandbox.file.size", len(content)))
		return err
	})
	return content, err
}

func (f *Files) read(ctx context.Context, path string, options []CallOption) ([]byte, error) {
	reader, err := f.open(ctx, path, options)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	var source io.Reader = reader
	if f.reference != nil {
		source = io.LimitReader(reader, f.reference.maxDownload+1)
	}
	content, err := io.ReadAll(source)
	if err != nil {
		return nil, ended(ctx, lost(fmt.Sprintf("Cannot read %q", path), err, true))
	}
	if f.reference != nil && int64(len(content)) > f.reference.maxDownload {
		return nil, failf(LimitExceeded, "Cannot read %q: it is larger than MaxDownloadSize, %d bytes", path, f.reference.maxDownload)
	}
	return content, nil
}

func (f *Files) isLegacy() bool { return f.reference != nil && f.reference.legacy }

// operateOn is operate for a file. Handles with the rules of the reference refuse paths without a name.
func (f *Files) operateOn(ctx context.Context, name, path string, o callOptions, call func(context.Context) error) error {
	about := operation{name: name, limited: true, timeout: o.timeout, attributes: []attribute.KeyValue{attribute.String("sandbox.file.path", path)}}
	return f.operate(ctx, about, func(ctx context.Context) error {
		if f.reference != nil && path == "" {
			return failf(InvalidArgument, "Cannot %s: the path is empty", name)
		}
		return call(ctx)
	})
}

// Open returns the content of a file as a stream. The caller closes it.
func (f *Files) Open(ctx context.Context, path string, options ...CallOption) (content io.ReadCloser, err error) {
	err = f.operate(ctx, operation{name: "open_file", attributes: []attribute.KeyValue{attribute.String("sandbox.file.path", path)}}, func(ctx context.Context) error {
		content, err = f.open(ctx, path, options)
		return err
	})
	return content, err
}

func (f *Files) open(ctx context.Context, path string, options []CallOption) (io.ReadCloser, error) {
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
	o := optionsOf(options)
	return f.operateOn(ctx, "write", path, o, func(ctx context.Context) error {
		f.tracing.annotate(ctx, attribute.Int("sandbox.file.size", len(content)))
		if f.reference != nil {
			if err := checkUpload(path, content, f.reference.maxUpload); err != nil {
				return err
			}
		}
		if f.isLegacy() {
			return f.legacyWrite(ctx, path, content, o)
		}
		return f.put(ctx, path, restCall{body: content}, o)
	})
}

// WriteFrom is like Write with a stream, which can be sent only once.
func (f *Files) WriteFrom(ctx context.Context, path string, content io.Reader, options ...CallOption) error {
	return f.plain(ctx, "write_from", path, func(ctx context.Context) error {
		return f.put(ctx, path, restCall{stream: content}, optionsOf(options))
	})
}

// Append adds to the end of a file, which is created if it does not exist.
func (f *Files) Append(ctx context.Context, path string, content []byte) error {
	return f.plain(ctx, "append", path, func(ctx context.Context) error {
		return f.put(ctx, path, restCall{body: content, query: url.Values{"append": {"true"}}, unrepeatable: true}, callOptions{})
	})
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
func (f *Files) List(ctx context.Context, path string, options ...CallOption) (entries []FileEntry, err error) {
	o := optionsOf(options)
	err = f.operateOn(ctx, "list", path, o, func(ctx context.Context) error {
		if f.isLegacy() {
			entries, err = f.legacyList(ctx, path, o)
		} else {
			entries, err = f.list(ctx, path)
		}
		f.tracing.annotate(ctx, attribute.Int("sandbox.file.count", len(entries)))
		return err
	})
	return entries, err
}

func (f *Files) list(ctx context.Context, path string) ([]FileEntry, error) {
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

// Exists reports whether a file exists.
func (f *Files) Exists(ctx context.Context, path string, options ...CallOption) (exists bool, err error) {
	o := optionsOf(options)
	err = f.operateOn(ctx, "exists", path, o, func(ctx context.Context) error {
		if f.isLegacy() {
			exists, err = f.legacyExists(ctx, path, o)
		} else {
			exists, err = f.exists(ctx, path)
		}
		f.tracing.annotate(ctx, attribute.Bool("sandbox.file.exists", exists))
		return err
	})
	return exists, err
}

func (f *Files) exists(ctx context.Context, path string) (bool, error) {
	_, err := f.stat(ctx, path)
	if failure, ok := err.(*Error); ok && failure.Reason == NotFound && failure.Status == http.StatusNotFound {
		return false, nil
	}
	return err == nil, err
}

// Delete deletes a file, a link or an empty directory; with recursive also a directory with its content. The first runtime cannot.
func (f *Files) Delete(ctx context.Context, path string, recursive bool, options ...CallOption) error {
	return f.operateOn(ctx, "delete", path, optionsOf(options), func(ctx context.Context) error {
		if f.isLegacy() {
			return ErrUnsupportedByRuntime
		}
		encoded, err := encodePath(path)
		if err != nil {
			return err
		}
		query := url.Values{}
		if recursive {
			query.Set("recursive", "true")
		}
		return f.json(ctx, restCall{doing: fmt.Sprintf("Cannot delete %q", path), method: http.MethodDelete, path: "/files/" + encoded, query: query}, nil, nil)
	})
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
