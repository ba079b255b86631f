package test

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

type info struct{ Path, Name, Type, Mode, Target, ETag string }

func TestStatMkdirMoveCopyChmod(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	fs := func(action string, body map[string]any) answer { return b.post(b.rest+"/v1/fs/"+action, body) }
	fs("mkdir", map[string]any{"path": "a/b", "mode": "0700"}).want(t, 204, "")
	fs("mkdir", map[string]any{"path": "a/b"}).want(t, 204, "")
	b.put("a/b/f?mode=0640", "content").wantStatus(t, 204)
	if err := os.Symlink("f", b.file("a/b/l")); err != nil {
		t.Fatal(err)
	}
	stat := decode[info](t, b.get(b.rest+"/v1/stat/a/b/f"))
	if stat.Path != "/a/b/f" || stat.Mode != "0640" || stat.Type != "file" || stat.ETag == "" {
		t.Errorf("stat is %+v", stat)
	}
	if link := decode[info](t, b.get(b.rest+"/v1/stat/a/b/l?follow=false")); link.Type != "symlink" || link.Target != "f" {
		t.Errorf("stat of a link is %+v", link)
	}
	fs("copy", map[string]any{"from": "a", "to": "copy"}).want(t, 204, "")
	fs("copy", map[string]any{"from": "a", "to": "copy"}).wantCode(t, 409, "CONFLICT")
	fs("copy", map[string]any{"from": "a", "to": "copy", "replace": true}).want(t, 204, "")
	fs("copy", map[string]any{"from": "a", "to": "a/b/c"}).wantCode(t, 400, "INVALID_ARGUMENT")
	target, _ := os.Readlink(b.file("copy/b/l"))
	if copied, _ := os.Stat(b.file("copy/b/f")); b.read("copy/b/f") != "content" || copied.Mode().Perm() != 0o640 || target != "f" {
		t.Error("the copy is not like the original")
	}
	fs("move", map[string]any{"from": "a/b/f", "to": "copy/b/f"}).wantCode(t, 409, "CONFLICT")
	fs("move", map[string]any{"from": "a/b/f", "to": "deep/er/f"}).want(t, 204, "")
	fs("move", map[string]any{"from": "a/b/f", "to": "x"}).wantCode(t, 404, "NOT_FOUND")
	fs("move", map[string]any{"from": "", "to": "x"}).wantCode(t, 400, "INVALID_ARGUMENT")
	fs("chmod", map[string]any{"path": "copy", "mode": "0755", "recursive": true}).want(t, 204, "")
	if changed, _ := os.Stat(b.file("copy/b/f")); changed.Mode().Perm() != 0o755 {
		t.Errorf("mode is %v", changed.Mode())
	}
	fs("chmod", map[string]any{"path": "copy", "mode": "999"}).wantCode(t, 400, "INVALID_ARGUMENT")
	fs("chmod", map[string]any{"path": "copy", "mode": "0755", "unknown": 1}).wantCode(t, 400, "INVALID_ARGUMENT")
}

func lines[T any](t *testing.T, body string) []T {
	t.Helper()
	var list []T
	for line := range strings.Lines(body) {
		var value T
		if err := json.Unmarshal([]byte(line), &value); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		list = append(list, value)
	}
	return list
}

func TestTree(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	for _, path := range []string{"a/b/1.txt", "a/2.txt", "c.go"} {
		b.put(path, "x").wantStatus(t, 204)
	}
	paths := func(query string) string {
		var found []string
		for _, entry := range lines[info](t, b.get(b.rest+"/v1/tree/"+query).body) {
			found = append(found, entry.Path)
		}
		return strings.Join(found, " ")
	}
	for query, want := range map[string]string{
		"":                     "/a /a/2.txt /a/b /a/b/1.txt /c.go",
		"?depth=1":             "/a /c.go",
		"?match=*.txt":         "/a/2.txt /a/b/1.txt",
		"?match=*.txt&limit=1": "/a/2.txt",
		"a/b":                  "/a/b/1.txt",
	} {
		if got := paths(query); got != want {
			t.Errorf("%q lists %s, want %s", query, got, want)
		}
	}
	b.get(b.rest+"/v1/tree/c.go").wantCode(t, 409, "CONFLICT")
	b.get(b.rest+"/v1/tree/?match=[").wantCode(t, 400, "INVALID_ARGUMENT")
	b.get(b.rest+"/v1/tree/?depth=-1").wantCode(t, 400, "INVALID_ARGUMENT")
}

func TestListingInPages(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	for _, name := range []string{"d", "b", "a", "c", "e"} {
		b.write(name, "")
	}
	names := func(query string) (string, string) {
		got := b.get(b.rest + "/v1/files/" + query)
		var found []string
		for _, entry := range decode[struct{ Entries []info }](t, got).Entries {
			found = append(found, entry.Name)
		}
		return strings.Join(found, ""), got.header.Get("X-More-Entries")
	}
	for _, page := range [][3]string{{"?limit=2", "ab", "true"}, {"?limit=2&after=b", "cd", "true"}, {"?limit=2&after=d", "e", ""}, {"", "abcde", ""}} {
		if got, more := names(page[0]); got != page[1] || more != page[2] {
			t.Errorf("%s gives %s %q", page[0], got, more)
		}
	}
}

func TestArchiveRoundTrip(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.put("src/sub/f?mode=0750", "content").wantStatus(t, 204)
	_ = os.Symlink("sub/f", b.file("src/l"))
	if err := syscall.Mkfifo(b.file("src/fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"", "?gzip=true"} {
		packed := b.get(b.rest + "/v1/archive/src" + query)
		packed.wantStatus(t, 200)
		b.do(request{method: "PUT", url: b.rest + "/v1/archive/dst" + query, body: strings.NewReader(packed.body)}).want(t, 204, "")
		target, _ := os.Readlink(b.file("dst/l"))
		if copied, err := os.Stat(b.file("dst/sub/f")); err != nil || copied.Mode().Perm() != 0o750 || b.read("dst/sub/f") != "content" || target != "sub/f" {
			t.Errorf("the archive did not give back what was packed: %v", err)
		}
		b.delete("dst?recursive=true").wantStatus(t, 204)
	}
	zipped, err := gzip.NewReader(strings.NewReader(b.get(b.rest + "/v1/archive/src/sub/f?gzip=1").body))
	if err != nil {
		t.Fatal(err)
	}
	header, err := tar.NewReader(zipped).Next()
	if err != nil || header.Name != "f" {
		t.Errorf("an archive of one file holds %v, %v", header, err)
	}
}

type change struct {
	Type, Path  string
	IsDirectory bool `json:"is_directory"`
}

func TestWatch(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.put("old/f", "x").wantStatus(t, 204)
	built, _ := http.NewRequest("GET", b.rest+"/v1/watch/?recursive=true", nil)
	response, err := authenticated(http.DefaultClient, tokenText).Do(built)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	stream := bufio.NewScanner(response.Body)
	next := func() change {
		t.Helper()
		if !stream.Scan() {
			t.Fatalf("the watch ended: %v", stream.Err())
		}
		var event change
		if err := json.Unmarshal(stream.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		return event
	}
	until := func(want change) {
		t.Helper()
		for {
			if next() == want {
				return
			}
		}
	}
	if first := next(); first.Type != "ready" {
		t.Fatalf("the first event is %+v", first)
	}
	b.write("old/g", "y")
	until(change{"created", "/old/g", false})
	until(change{"modified", "/old/g", false})
	if err := os.MkdirAll(b.file("new/deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	until(change{"created", "/new", true})
	until(change{"created", "/new/deep", true})
	b.write("new/deep/file", "z")
	until(change{"created", "/new/deep/file", false})
	_ = os.Chmod(b.file("old/f"), 0o600)
	until(change{"attributes", "/old/f", false})
	_ = os.Rename(b.file("old/f"), b.file("moved"))
	until(change{"deleted", "/old/f", false})
	until(change{"created", "/moved", false})
	_ = os.RemoveAll(filepath.Join(b.root, "new"))
	until(change{"deleted", "/new", true})
	// An upload is one event; its temporary file is not reported.
	b.put("atomic", "x").wantStatus(t, 204)
	if event := next(); strings.Contains(event.Path, "tmp") {
		t.Errorf("a temporary file is told of: %+v", event)
	}
}

// Changes that a reader missed are reported as an overflow, and not buffered.
func TestAWatchThatIsNotRead(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{dir: inMemory(t)})
	built, _ := http.NewRequest("GET", b.rest+"/v1/watch/", nil)
	response, err := authenticated(http.DefaultClient, tokenText).Do(built)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	stream := bufio.NewScanner(response.Body)
	if !stream.Scan() || !strings.Contains(stream.Text(), `"ready"`) {
		t.Fatalf("the watch begins with %q, %v", stream.Text(), stream.Err())
	}
	name := b.file(strings.Repeat("n", 200))
	for range 100_000 {
		if err := errors.Join(syscall.Mknod(name, syscall.S_IFREG|0o644, 0), syscall.Unlink(name)); err != nil {
			t.Fatal(err)
		}
	}
	b.wantSmall(64)
	for !strings.Contains(stream.Text(), `"overflow"`) {
		if !stream.Scan() {
			t.Fatalf("the watch ended without telling what was missed: %v", stream.Err())
		}
	}
	b.wantWorking()
}

func TestWatchesAreBounded(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	var open []io.Closer
	defer func() {
		for _, body := range open {
			body.Close()
		}
	}()
	for range 33 {
		built, _ := http.NewRequest("GET", b.rest+"/v1/watch/", nil)
		response, err := authenticated(http.DefaultClient, tokenText).Do(built)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, response.Body)
		if len(open) == 33 && response.StatusCode != 429 {
			t.Errorf("the last watch got %d", response.StatusCode)
		}
		if len(open) < 33 && response.StatusCode != 200 {
			t.Errorf("watch %d got %d", len(open), response.StatusCode)
		}
	}
}
