package rpc

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
)

func TestMessagesHaveNoSpacesBetweenTokens(t *testing.T) {
	signal := int32(9)
	sent := &processv1.ExecuteResponse{ExitCode: -1, Stdout: []byte("a, b"), Signal: &signal, TimedOut: true}
	encoded, err := jsonCodec{"json"}.MarshalAppend([]byte("before, "), sent)
	if want := `before, {"exitCode":-1,"stdout":"YSwgYg==","signal":9,"timedOut":true}`; err != nil || string(encoded) != want {
		t.Fatalf("got %s, %v, want %s", encoded, err, want)
	}
	received := &processv1.ExecuteResponse{}
	if err := (jsonCodec{"json"}).Unmarshal(encoded[len("before, "):], received); err != nil || !proto.Equal(sent, received) {
		t.Fatalf("got %v, %v, want %v", received, err, sent)
	}
}

func TestInvalidMessagesAreRefused(t *testing.T) {
	for _, encoded := range []string{"", "[]", "{", `{"exitCode":"x"}`} {
		if (jsonCodec{"json"}).Unmarshal([]byte(encoded), &processv1.ExecuteResponse{}) == nil {
			t.Errorf("%q is accepted", encoded)
		}
	}
}

func FuzzCompact(f *testing.F) {
	for _, text := range []string{"", `a\`, `a\\", "`, `"`, `\"`, ", : {} []", "é \u2028 \x00"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		plain, err := json.Marshal(map[string]any{name: []any{value, 1, nil, true, map[string]any{value: name}}})
		if err != nil {
			t.Skip()
		}
		var spaced strings.Builder
		for decoder := json.NewDecoder(bytes.NewReader(plain)); ; {
			start := decoder.InputOffset()
			if _, err := decoder.Token(); err != nil {
				break
			}
			spaced.Write(plain[start:decoder.InputOffset()])
			spaced.WriteByte(' ')
		}
		if got := compact([]byte(spaced.String())); string(got) != string(plain) {
			t.Fatalf("got %s, want %s", got, plain)
		}
	})
}
