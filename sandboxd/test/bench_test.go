package test

import (
	"context"
	"os/exec"
	"testing"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
)

// Compare the two to find the cost of a call in addition to the process that it starts.

func BenchmarkExecuteTrue(b *testing.B) {
	box := start(b, boxOptions{})
	request := &processv1.ExecuteRequest{Config: &processv1.ProcessConfig{Command: []string{"true"}}}
	for b.Loop() {
		if _, err := box.client.Execute(context.Background(), request); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSpawnTrue(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}
