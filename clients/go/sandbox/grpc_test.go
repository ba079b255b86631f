package sandbox

import (
	"bytes"
	"reflect"
	"testing"
)

func TestExecuteMessages(t *testing.T) {
	got := executeRequest([]string{"a", "b"}, callOptions{env: map[string]string{"K": "v"}, dir: "d"})
	want := []byte("\x0a\x11\x0a\x01a\x0a\x01b\x12\x06\x0a\x01K\x12\x01v\x1a\x01d")
	if !bytes.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	result, err := executeResponse([]byte("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x03out\x1a\x01\xff\x20\x09\x28\x01\x38\x01\x52\x01?"))
	if expected := (&ExecutionResult{Stdout: "out", Stderr: "\ufffd", ExitCode: -1, Signal: 9, TimedOut: true, Truncated: true}); !reflect.DeepEqual(result, expected) || err != nil {
		t.Errorf("got %+v, %v", result, err)
	}
	for _, hostile := range []string{"\x08", "\x12\x05abc", "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "\x0d\x01\x02\x03\x04", "\xff"} {
		if _, err := executeResponse([]byte(hostile)); err == nil {
			t.Errorf("%q was accepted", hostile)
		}
	}
}
