package sandbox

import (
	"context"
	"fmt"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
)

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

// Stat describes a file.
func (f *Files) Stat(ctx context.Context, path string) (info *FileInfo, err error) {
	err = f.plain(ctx, "stat", path, func(ctx context.Context) error {
		info, err = f.stat(ctx, path)
		return err
	})
	return info, err
}

func (f *Files) stat(ctx context.Context, path string) (*FileInfo, error) {
	encoded, err := encodePath(path)
	if err != nil {
		return nil, err
	}
	info := &FileInfo{}
	return info, f.json(ctx, restCall{doing: fmt.Sprintf("Cannot stat %q", path), method: http.MethodGet, path: "/stat/" + encoded}, nil, info)
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
	return f.operate(ctx, operation{name: action}, func(ctx context.Context) error {
		return f.json(ctx, restCall{doing: doing, method: http.MethodPost, path: "/fs/" + action}, body, nil)
	})
}

// plain is an operation that only has a path.
func (f *Files) plain(ctx context.Context, name, path string, call func(context.Context) error) error {
	return f.operate(ctx, operation{name: name, attributes: []attribute.KeyValue{attribute.String("sandbox.file.path", path)}}, call)
}
