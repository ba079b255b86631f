// Package once makes repeated calls with the same key run only once.
package once

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// remember is how long results are kept, which is longer than clients retry.
	remember = 5 * time.Minute
	// maxResults and maxCost limit the results that are kept. The oldest are dropped first.
	maxResults = 256
	maxCost    = 16 << 20
	// abandonAfter is how long a call continues after its last client has disconnected, so that a retry finds it running.
	abandonAfter = 10 * time.Second
)

// Calls keeps the results of one kind of call.
type Calls[T any] struct {
	// Cost returns the size of a result in bytes.
	Cost func(T) int
	// Abandon overrides abandonAfter.
	Abandon time.Duration

	mu    sync.Mutex
	calls map[string]*call[T]
	// finished calls, oldest first.
	finished []*call[T]
	cost     int
}

type call[T any] struct {
	key    string
	done   chan struct{}
	value  T
	ended  time.Time
	cancel context.CancelFunc
	// waiting is the number of callers. While it is 0, the timer runs.
	waiting int
	timer   *time.Timer
}

// Do runs the call, or returns the result of a call with the same key that runs or has ended. Without a key the call is
// cancelled with its context. With one, it is cancelled some time after the contexts of all its callers.
func (c *Calls[T]) Do(ctx context.Context, key string, run func(context.Context) T) (T, error) {
	if key == "" {
		return run(ctx), nil
	}
	call := c.join(ctx, key, run)
	defer c.leave(call)
	select {
	case <-call.done:
		return call.value, nil
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// Knows reports whether a call with this key runs or has ended.
func (c *Calls[T]) Knows(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[key] != nil
}

func (c *Calls[T]) join(ctx context.Context, key string, run func(context.Context) T) *call[T] {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire(time.Now())
	if known := c.calls[key]; known != nil {
		known.waiting++
		if known.timer != nil {
			known.timer.Stop()
			known.timer = nil
		}
		return known
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	fresh := &call[T]{key: key, done: make(chan struct{}), cancel: cancel, waiting: 1}
	if c.calls == nil {
		c.calls = map[string]*call[T]{}
	}
	c.calls[key] = fresh
	go func() {
		defer cancel()
		fresh.value = run(running)
		c.finish(fresh)
	}()
	return fresh
}

func (c *Calls[T]) leave(call *call[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call.waiting--
	if call.waiting == 0 && call.ended.IsZero() {
		patience := c.Abandon
		if patience == 0 {
			patience = abandonAfter
		}
		call.timer = time.AfterFunc(patience, call.cancel)
	}
}

func (c *Calls[T]) finish(call *call[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call.ended = time.Now()
	if call.timer != nil {
		call.timer.Stop()
	}
	c.finished = append(c.finished, call)
	c.cost += c.Cost(call.value)
	close(call.done)
	c.expire(call.ended)
}

func (c *Calls[T]) expire(now time.Time) {
	for len(c.finished) > 0 {
		oldest := c.finished[0]
		full := len(c.finished) > maxResults || (c.cost > maxCost && len(c.finished) > 1)
		if !full && now.Sub(oldest.ended) < remember {
			return
		}
		delete(c.calls, oldest.key)
		c.finished = slices.Delete(c.finished, 0, 1)
		c.cost -= c.Cost(oldest.value)
	}
}
