package test

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFileAttributes(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	b.put("dir/a.txt", "x").want(t, 204, "")
	if err := unix.Setxattr(b.file("dir/a.txt"), "user.other", []byte("kept"), 0); errors.Is(err, unix.ENOTSUP) {
		t.Skip("the file system has no extended attributes")
	}
	set := func(path, prefix string, attributes map[string]any) answer {
		return b.post(b.rest+"/v1/fs/attributes", map[string]any{"path": path, "prefix": prefix, "attributes": attributes})
	}
	shown := func(url string) string {
		got := b.get(b.rest + url)
		got.wantStatus(t, 200)
		_, rest, _ := strings.Cut(got.body, `"attributes":`)
		text, _, _ := strings.Cut(rest, "}")
		return text
	}
	set("dir/a.txt", "user.app.", map[string]any{"one": "1", "two": "é"}).want(t, 204, "")
	set("dir/a.txt", "user.app.", map[string]any{"two": "2", "three": "3"}).want(t, 204, "")
	const all = `{"three":"3","two":"2"`
	if got := shown("/v1/stat/dir/a.txt?attributes=user.app."); got != all {
		t.Errorf("stat shows %s", got)
	}
	if got := shown("/v1/tree/dir?attributes=user.app."); got != all {
		t.Errorf("the listing shows %s", got)
	}
	if got := shown("/v1/stat/dir/a.txt?attributes=user.ot"); got != `{"her":"kept"` {
		t.Errorf("another attribute is %s", got)
	}
	if got := shown("/v1/stat/dir/a.txt"); got != "" {
		t.Errorf("without the parameter: %s", got)
	}
	b.put("dir/a.txt", "y").want(t, 204, "")
	if got := shown("/v1/stat/dir/a.txt?attributes=user.app."); got != "" {
		t.Errorf("a file that was replaced has %s", got)
	}
	for _, prefix := range []string{"", "user.", "security.", "trusted.overlay.", "user.a\x00"} {
		set("dir/a.txt", prefix, map[string]any{"a": "1"}).wantCode(t, 400, "INVALID_ARGUMENT")
	}
	b.get(b.rest+"/v1/stat/dir/a.txt?attributes=system.").wantCode(t, 400, "INVALID_ARGUMENT")
	set("dir/a.txt", "user.a.", map[string]any{"": "1"}).wantCode(t, 400, "INVALID_ARGUMENT")
	set("dir/a.txt", "user.a.", map[string]any{"a": strings.Repeat("v", 65537)}).wantCode(t, 400, "INVALID_ARGUMENT")
	set("absent", "user.a.", map[string]any{"a": "1"}).wantCode(t, 404, "NOT_FOUND")
	set("dir/a.txt", "user.a.", map[string]any{strings.Repeat("n", 300): "1"}).wantCode(t, 400, "INVALID_ARGUMENT")
}
