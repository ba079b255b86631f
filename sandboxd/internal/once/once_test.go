package once

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func length(s string) int { return len(s) }

func TestCallsUnderOneKeyRunOnce(t *testing.T) {
	calls := Calls[string]{Cost: length}
	var runs atomic.Int32
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			got, err := calls.Do(context.Background(), "k", func(context.Context) string { return fmt.Sprint("run ", runs.Add(1)) })
			if got != "run 1" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	wait.Wait()
	for range 2 {
		_, _ = calls.Do(context.Background(), "", func(context.Context) string { runs.Add(1); return "" })
	}
	if runs.Load() != 3 {
		t.Errorf("%d runs", runs.Load())
	}
}

func TestAnAbandonedCallIsCancelledAndARetryJoins(t *testing.T) {
	calls := Calls[string]{Cost: length, Abandon: 300 * time.Millisecond}
	started, release := make(chan struct{}), make(chan struct{})
	run := func(ctx context.Context) string {
		close(started)
		select {
		case <-ctx.Done():
			return "cancelled"
		case <-release:
			return "done"
		}
	}
	leave := func(key string) {
		ctx, cancel := context.WithCancel(context.Background())
		go func() { <-started; cancel() }()
		if _, err := calls.Do(ctx, key, run); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	leave("joined")
	go func() { time.Sleep(400 * time.Millisecond); close(release) }()
	if got, err := calls.Do(context.Background(), "joined", run); got != "done" || err != nil {
		t.Errorf("the retry got %q, %v", got, err)
	}
	started, release = make(chan struct{}), make(chan struct{})
	leave("dropped")
	time.Sleep(500 * time.Millisecond)
	if got, err := calls.Do(context.Background(), "dropped", run); got != "cancelled" || err != nil {
		t.Errorf("a late retry got %q, %v", got, err)
	}
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	calls := Calls[string]{Cost: func(string) int { return 1 << 20 }}
	for i := range 100 {
		_, _ = calls.Do(context.Background(), fmt.Sprint(i), func(context.Context) string { return "x" })
	}
	if len(calls.calls) > 16 || calls.cost > maxCost {
		t.Errorf("%d results of %d bytes are remembered", len(calls.calls), calls.cost)
	}
	calls.expire(time.Now().Add(time.Hour))
	if len(calls.calls) != 0 || calls.cost != 0 {
		t.Error("results are remembered for ever")
	}
}
