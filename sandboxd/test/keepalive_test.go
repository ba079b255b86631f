package test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
)

// kinds reads the types of the lines of a response until one of them is last.
func (b *box) kinds(method, url, body, last string) []string {
	b.t.Helper()
	built, _ := http.NewRequestWithContext(timeLimited(b.t), method, url, strings.NewReader(body))
	response, err := authenticated(http.DefaultClient, tokenText).Do(built)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	var kinds []string
	scanner := bufio.NewScanner(response.Body)
	for scanner.Scan() {
		var event struct{ Type string }
		if err := json.Unmarshal(scanner.Bytes(), &event); err != nil {
			b.t.Fatal(err)
		}
		kinds = append(kinds, event.Type)
		if event.Type == last {
			return kinds
		}
	}
	b.t.Fatalf("the response ended with %v, %v", kinds, scanner.Err())
	return nil
}

func TestSilentStreamsAreKeptAlive(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	t.Run("a watch", func(t *testing.T) {
		if got := b.kinds("GET", b.rest+"/v1/watch/?keepalive=1", "", "keepalive"); got[0] != "ready" {
			t.Errorf("got %v", got)
		}
	})
	t.Run("code", func(t *testing.T) {
		s := b.context("python")
		code := `{"code":"import time; time.sleep(1.5); print(1)"}`
		if got := b.kinds("POST", s.url+"/execute?stream=true&keepalive=1", code, "end"); got[0] != "keepalive" || !slices.Contains(got, "stdout") {
			t.Errorf("got %v", got)
		}
		if got := b.kinds("POST", s.url+"/execute?stream=true", code, "end"); got[0] != "stdout" {
			t.Errorf("got %v without keepalive", got)
		}
	})
	for name, script := range map[string]string{
		"a silent process":                 "sleep 1.5; echo end",
		"a process that closed its output": "exec >&- 2>&-; sleep 1.5",
	} {
		t.Run(name, func(t *testing.T) {
			ctx, info := connect.NewClientContext(timeLimited(t))
			info.RequestHeader().Set("Keepalive-Ping-Interval", "1")
			if got := empty(t, b, ctx, script); got < 1 {
				t.Errorf("got %d empty events", got)
			}
			if got := empty(t, b, timeLimited(t), script); got != 0 {
				t.Errorf("got %d empty events without the header", got)
			}
		})
	}
}

// empty counts the empty events of a process that succeeds.
func empty(t *testing.T, b *box, ctx context.Context, script string) int {
	t.Helper()
	stream, err := b.client.Start(ctx, &processv1.StartRequest{Config: shell(script)})
	if err != nil {
		t.Fatal(err)
	}
	count, hasEnded := 0, false
	for stream.Receive() {
		if stream.Msg().Event == nil {
			count++
		}
		hasEnded = stream.Msg().GetExit() != nil
	}
	if stream.Err() != nil || !hasEnded {
		t.Fatalf("the stream ended with %v", stream.Err())
	}
	return count
}

func TestBadIntervalsAreRefusedOrIgnored(t *testing.T) {
	t.Parallel()
	b := start(t, boxOptions{})
	s := b.context("python")
	for _, bad := range []string{"1ns", "0.5", "-1", "3601", "1e99", "NaN", "x"} {
		b.get(b.rest+"/v1/watch/?keepalive="+bad).wantCode(t, 400, "INVALID_ARGUMENT")
		b.post(s.url+"/execute?stream=true&keepalive="+bad, map[string]string{"code": "1"}).wantCode(t, 400, "INVALID_ARGUMENT")
	}
	for _, ignored := range []string{"0", "-1", "0.001", "99999999999999999999", "x"} {
		ctx, info := connect.NewClientContext(timeLimited(t))
		info.RequestHeader().Set("Keepalive-Ping-Interval", ignored)
		if got := empty(t, b, ctx, "sleep 0.2"); got != 0 {
			t.Errorf("got %d empty events for %q", got, ignored)
		}
	}
}
