package confine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func openRoot(t testing.TB) (*Root, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root, dir
}

func TestRel(t *testing.T) {
	root := &Root{directory: &directory{path: "/data/work", given: "/workspace"}}
	for user, want := range map[string]string{
		"": ".", "/": ".", ".": ".", "a": "a", "/a": "a", "a/": "a", "a//b": "a/b", "a/./b/../c": "a/c", "/../a": "a",
		"/workspace": ".", "/workspace/a": "a", "/workspace/../a": "a", "/data/work/a": "a", "workspace/a": "workspace/a", "/workspace-evil/a": "workspace-evil/a",
		"...": "...", "a/..": ".",
	} {
		if got, err := root.Rel(user); got != want || err != nil {
			t.Errorf("Rel(%q) = %q, %v, want %q", user, got, err, want)
		}
	}
	for _, user := range []string{"..", "../a", "a/../..", "a/../../b"} {
		if got, err := root.Rel(user); !errors.Is(err, ErrOutside) {
			t.Errorf("Rel(%q) = %q, %v", user, got, err)
		}
	}
	for user, want := range map[string]error{"a\x00b": unix.EINVAL, strings.Repeat("x", 5000): unix.ENAMETOOLONG} {
		if _, err := root.Rel(user); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
}

func TestTheWholeMachineAsRoot(t *testing.T) {
	root, err := Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, user := range []string{"/etc/passwd", "etc/passwd"} {
		rel, err := root.Rel(user)
		if err != nil || rel != "etc/passwd" {
			t.Errorf("Rel(%q) = %q, %v", user, rel, err)
		}
	}
	entry, err := root.Locate("etc/passwd", Lookup{})
	if err != nil {
		t.Fatal(err)
	}
	defer entry.Close()
	if _, err := entry.Stat(); err != nil {
		t.Error(err)
	}
}

func TestLocateThroughLinks(t *testing.T) {
	root, dir := openRoot(t)
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"in": "a/b", "a/b/back": "../../a", "abs": dir + "/a", "out": "/etc", "up": "../..", "self": "self", "out-and-in": "../root/a", "slash": "/", "empty-end": "a/b/.",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for rel, want := range map[string]string{
		"in/x": "a/b/x", "in/back/b/y": "a/b/y", "abs/b": "a/b", "in": "a/b", "empty-end": "a/b", "a/b/back/b/back": "a",
	} {
		entry, err := root.Locate(rel, Lookup{})
		if err != nil {
			t.Errorf("Locate(%q): %v", rel, err)
			continue
		}
		if entry.Rel != want {
			t.Errorf("Locate(%q) = %q, want %q", rel, entry.Rel, want)
		}
		entry.Close()
	}
	for rel, want := range map[string]error{"out/passwd": ErrOutside, "up": ErrOutside, "up/x": ErrOutside, "self": unix.ELOOP, "out-and-in": ErrOutside, "slash/etc": ErrOutside} {
		if _, err := root.Locate(rel, Lookup{MakeParents: true}); !errors.Is(err, want) {
			t.Errorf("Locate(%q): %v, want %v", rel, err, want)
		}
	}
}

func TestRemoveAllEndsWithItsContext(t *testing.T) {
	root, dir := openRoot(t)
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	entry, err := root.Locate("a", Lookup{})
	if err != nil {
		t.Fatal(err)
	}
	defer entry.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := entry.RemoveAll(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Every located entry is below the root, for any path and any tree of links.
func FuzzLocate(f *testing.F) {
	for _, seed := range [][2]string{{"a/b", "../x"}, {"l", "/etc"}, {"l/l/l", "l"}, {"../..", ".."}, {"l/../../x", "a/../.."}, {"a/l/..", "/"}, {"%2e%2e/l", "./../.."}} {
		f.Add(seed[0], seed[1])
	}
	root, dir := openRoot(f)
	if err := os.MkdirAll(filepath.Join(dir, "a"), 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, user, target string) {
		for _, link := range []string{"l", "a/l"} {
			_ = os.Remove(filepath.Join(dir, link))
			_ = os.Symlink(target, filepath.Join(dir, link))
		}
		rel, err := root.Rel(user)
		if err != nil {
			return
		}
		if rel == ".." || strings.HasPrefix(rel, "../") || strings.HasPrefix(rel, "/") {
			t.Fatalf("Rel(%q) = %q", user, rel)
		}
		entry, err := root.Locate(rel, Lookup{})
		if err != nil {
			return
		}
		defer entry.Close()
		handle, err := entry.Handle()
		if err != nil {
			return
		}
		defer unix.Close(handle)
		where, err := os.Readlink(DescriptorPath(handle))
		if err != nil || (where != dir && !strings.HasPrefix(where, dir+"/")) {
			t.Fatalf("%q with links to %q leads to %q, %v", user, target, where, err)
		}
	})
}
