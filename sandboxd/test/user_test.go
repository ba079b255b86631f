package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
)

// containerRights are the usual capabilities in a container, where even root may not access processes of other users.
var containerRights = []string{"setpriv", "--bounding-set=-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service"}

// nobody is a user without files in the test's directory.
const nobody = 65534

func (b *box) tokenFile() string { return filepath.Join(filepath.Dir(b.root), "token") }

// denied runs a script that prints the user id and then tries accesses that must all be refused.
func (b *box) denied(user int, script string) {
	b.t.Helper()
	got, err := b.client.Execute(timeLimited(b.t), &processv1.ExecuteRequest{Config: shell("id -u; " + script)})
	if err != nil || string(got.Stdout) != fmt.Sprintf("%d\n", user) || !strings.Contains(string(got.Stderr), "ermi") {
		b.t.Errorf("%q gives %q, %q, %v", script, got.GetStdout(), got.GetStderr(), err)
	}
}

func ownerOf(t *testing.T, file string) int {
	t.Helper()
	var stat syscall.Stat_t
	if err := syscall.Lstat(file, &stat); err != nil {
		t.Fatal(err)
	}
	return int(stat.Uid)
}

// Processes of the daemon's user may read the token file, but not the daemon's memory.
func TestTheDaemonIsNotReadable(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]boxOptions{
		"as root":        {wrap: containerRights},
		"as nobody":      {user: nobody},
		"as nobody else": {wrap: containerRights, env: []string{fmt.Sprintf("SANDBOXD_USER=%d", nobody)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user := 0
			if name != "as root" {
				user = nobody
			}
			b := start(t, options)
			for _, file := range []string{"environ", "mem", "maps", "fd/0"} {
				b.denied(user, "cat /proc/$PPID/"+file)
			}
			got, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: shell("env | grep -c SANDBOXD_TOKEN")})
			if err != nil || string(got.Stdout) != "0\n" {
				t.Errorf("the environment tells of the token %q times, %v", got.GetStdout(), err)
			}
		})
	}
}

// With SANDBOXD_USER, code in the sandbox runs as another user and cannot read the token.
func TestUserCodeRunsAsAnotherUser(t *testing.T) {
	t.Parallel()
	command := `cd $(dirname $SANDBOXD_SOCKET)/root && (id -u; id -G; echo $HOME; cat ../token || echo refused) > said; exec sleep 1000`
	b := start(t, boxOptions{
		wrap: containerRights, env: []string{fmt.Sprintf("SANDBOXD_USER=%d:7", nobody), "HOME=/root", "PATH=/usr/bin:/bin"},
		command: []string{"sh", "-c", command},
	})
	eventually(t, "the command", func() bool {
		told, _ := os.ReadFile(b.file("said"))
		return string(told) == "65534\n7\n/nonexistent\nrefused\n"
	})
	b.denied(nobody, "cat "+b.tokenFile())
	if err := os.Chmod(b.tokenFile(), 0o444); err != nil {
		t.Fatal(err)
	}
	got, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: shell("cat " + b.tokenFile())})
	if err != nil || string(got.Stdout) != tokenText+"\n" {
		t.Errorf("it is not the mode that keeps the token: %v, %v", got, err)
	}
	if result := decode[executed](t, b.execute("id -u")); result.Stdout != "65534\n" {
		t.Errorf("a legacy command runs as %+v", result)
	}
	if got := b.context("python").run("import os; os.getuid()", 0); len(got.Results) != 1 || got.Results[0]["text/plain"] != "65534" {
		t.Errorf("a context runs as %+v", got)
	}
	terminal := b.begin(timeLimited(t), &processv1.StartRequest{Config: shell("stat -c %u $(tty)"), Pty: &processv1.PTY{Cols: 80, Rows: 24}})
	if terminal.finish(); terminal.stdout.String() != "65534\r\n" {
		t.Errorf("the terminal belongs to %q", terminal.stdout.String())
	}
	// With the token, processes can be started as any user.
	config := shell("id -u")
	config.User = "root"
	if got, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: config}); err != nil || string(got.Stdout) != "0\n" {
		t.Errorf("got %v, %v", got, err)
	}
}

// Files written through the API belong to the configured user.
func TestFilesBelongToTheUser(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{wrap: containerRights, flags: []string{fmt.Sprintf("--user=%d", nobody)}})
	b.put("deep/er/file", "x").want(t, 204, "")
	b.do(request{method: "PUT", url: b.rest + "/v1/files/appended?append=true", body: strings.NewReader("y")}).want(t, 204, "")
	b.post(b.rest+"/v1/fs/mkdir", map[string]string{"path": "made/here"}).want(t, 204, "")
	b.post(b.rest+"/v1/fs/copy", map[string]string{"from": "deep", "to": "copied"}).want(t, 204, "")
	archive := b.get(b.rest + "/v1/archive/deep")
	b.do(request{method: "PUT", url: b.rest + "/v1/archive/unpacked", body: strings.NewReader(archive.body)}).want(t, 204, "")
	for _, file := range []string{"", "deep", "deep/er", "deep/er/file", "appended", "made", "made/here", "copied/er/file", "unpacked", "unpacked/er", "unpacked/er/file"} {
		if owner := ownerOf(t, b.file(file)); owner != nobody {
			t.Errorf("%q belongs to %d", file, owner)
		}
	}
	// Existing files keep their owner.
	if err := os.Mkdir(b.file("of-root"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.post(b.rest+"/v1/fs/mkdir", map[string]string{"path": "of-root"}).want(t, 204, "")
	b.write("of-root/file", "z")
	b.do(request{method: "PUT", url: b.rest + "/v1/files/of-root/file?append=true", body: strings.NewReader("z")}).want(t, 204, "")
	for _, file := range []string{"of-root", "of-root/file"} {
		if owner := ownerOf(t, b.file(file)); owner != 0 {
			t.Errorf("%q was given to %d", file, owner)
		}
	}
	got, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: shell("echo more >> deep/er/file && rm -r unpacked && cat deep/er/file")})
	if err != nil || string(got.Stdout) != "xmore\n" {
		t.Errorf("the user gets %v, %v", got, err)
	}
}

func TestADaemonThatIsNotRoot(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{user: nobody})
	config := shell("id -u")
	config.User = fmt.Sprint(nobody)
	got, err := b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: config})
	if err != nil || string(got.Stdout) != "65534\n" {
		t.Errorf("its own user gets %v, %v", got, err)
	}
	config.User = "root"
	_, err = b.client.Execute(timeLimited(t), &processv1.ExecuteRequest{Config: config})
	wantCode(t, err, connect.CodePermissionDenied)
	b.put("a/b", "x").want(t, 204, "")
	if owner := ownerOf(t, b.file("a/b")); owner != nobody {
		t.Errorf("a file belongs to %d", owner)
	}
	// User code can read the token, which gives it no additional rights.
	b.wantWorking()
	for want, args := range map[string][]string{
		"as user 65534":                {"run", "--token-file=" + b.tokenFile() + ".of-root"},
		"may not become another":       {"run", "--insecure-no-token", "--user=0"},
		"securityContext.runAsUser to": {"run", "--token-file=" + b.tokenFile() + ".of-root"},
	} {
		if err := os.WriteFile(b.tokenFile()+".of-root", []byte(tokenText), 0o400); err != nil {
			t.Fatal(err)
		}
		wrapped := append([]string{"--reuid=65534", "--regid=65534", "--clear-groups", program}, args...)
		if said := failing(t, "setpriv", wrapped...); !strings.Contains(said, want) {
			t.Errorf("%v says %q, want %q", args, said, want)
		}
		os.Remove(b.tokenFile() + ".of-root")
	}
}
