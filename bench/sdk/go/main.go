// Command sdk measures the Go SDK. It reads orders and prints measurements, one JSON object per line; contender.ts describes both. The
// arguments are the data folder of a box and the name of a pool.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/agent-sandbox/agent-sandbox/clients/go/sandbox"
)

type order struct {
	Do, Sandbox, Path string
	Bytes, Count      int
}

type measurement map[string]float64

type bench struct {
	client *sandbox.Client
	pool   string
	// opened is the sandbox of the orders that follow "open".
	opened  *sandbox.Sandbox
	content []byte
}

func main() {
	ctx := context.Background()
	client, err := sandbox.Connect(ctx, sandbox.Options{DataDir: os.Args[1]})
	check(err)
	b := &bench{client: client, pool: os.Args[2]}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var next order
		check(json.Unmarshal(lines.Bytes(), &next))
		measured, err := b.measure(ctx, next)
		check(err)
		text, err := json.Marshal(measured)
		check(err)
		fmt.Println(string(text))
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (b *bench) measure(ctx context.Context, next order) (measurement, error) {
	switch next.Do {
	case "first":
		return b.first(ctx)
	case "open":
		var err error
		b.opened, err = b.client.Get(ctx, next.Sandbox)
		return measurement{}, err
	case "exec":
		return timed(func() error {
			_, err := b.opened.Commands().RunArgs(ctx, []string{"true"})
			return err
		})
	case "parallel":
		return b.parallel(ctx, next.Count)
	case "write":
		if len(b.content) != next.Bytes {
			b.content = bytes.Repeat([]byte("agent-sandbox\x00\xff\n"), next.Bytes/16)
		}
		return timed(func() error { return b.opened.Files().Write(ctx, next.Path, b.content) })
	case "read":
		return timed(func() error {
			content, err := b.opened.Files().Read(ctx, next.Path)
			if err == nil && len(content) != next.Bytes {
				err = fmt.Errorf("read %d bytes instead of %d", len(content), next.Bytes)
			}
			return err
		})
	}
	return nil, fmt.Errorf("unknown order %q", next.Do)
}

// first measures the time from a claim to the sandbox and to the output of its first command.
func (b *bench) first(ctx context.Context) (measurement, error) {
	started := time.Now()
	created, err := b.client.Create(ctx, sandbox.CreateOptions{Pool: b.pool})
	if err != nil {
		return nil, err
	}
	ready := time.Since(started)
	result, err := created.Commands().Run(ctx, "echo ready")
	output := time.Since(started)
	if err == nil && result.Stdout != "ready\n" {
		err = fmt.Errorf("echo printed %q", result.Stdout)
	}
	if err != nil {
		return nil, err
	}
	return measurement{"ready_ms": milliseconds(ready), "ms": milliseconds(output)}, created.Close(ctx)
}

func (b *bench) parallel(ctx context.Context, count int) (measurement, error) {
	var mu sync.Mutex
	var commands sync.WaitGroup
	failures := 0
	started := time.Now()
	for number := range count {
		commands.Go(func() {
			result, err := b.opened.Commands().Run(ctx, fmt.Sprint("echo ", number), sandbox.WithTimeout(2*time.Minute))
			if err != nil || result.Stdout != fmt.Sprintln(number) {
				mu.Lock()
				failures++
				mu.Unlock()
			}
		})
	}
	commands.Wait()
	return measurement{"ms": milliseconds(time.Since(started)), "failures": float64(failures)}, nil
}

func timed(do func() error) (measurement, error) {
	started := time.Now()
	err := do()
	return measurement{"ms": milliseconds(time.Since(started))}, err
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
