// Package gate holds requests and new processes back while the processes of the sandbox are stopped for a snapshot.
package gate

import (
	"context"
	"errors"
	"sync"
)

// ErrForked is returned to callers that waited when the snapshot was taken and that find themselves in a fork. Their
// work is done in the source.
var ErrForked = errors.New("the sandbox is a fork of the one that got this request")

// Gate is open at first.
type Gate struct {
	mu sync.Mutex
	// barrier is nil while the gate is open.
	barrier *barrier
	inside  sync.WaitGroup
}

type barrier struct {
	lifted chan struct{}
	// forked is valid after lifted is closed.
	forked bool
}

// Enter waits until the gate is open and keeps it from being shut until leave is called.
func (g *Gate) Enter() (leave func(), err error) {
	for {
		g.mu.Lock()
		barrier := g.barrier
		if barrier == nil {
			g.inside.Add(1)
			g.mu.Unlock()
			return g.inside.Done, nil
		}
		g.mu.Unlock()
		<-barrier.lifted
		if barrier.forked {
			return nil, ErrForked
		}
	}
}

// Pass waits until the gate is open, or returns the context's error.
func (g *Gate) Pass(ctx context.Context) error {
	g.mu.Lock()
	barrier := g.barrier
	g.mu.Unlock()
	if barrier == nil {
		return nil
	}
	select {
	case <-barrier.lifted:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Shut returns when nobody is inside any more.
func (g *Gate) Shut() {
	g.mu.Lock()
	if g.barrier == nil {
		g.barrier = &barrier{lifted: make(chan struct{})}
	}
	g.mu.Unlock()
	g.inside.Wait()
}

// Open lets everyone pass who waits.
func (g *Gate) Open(forked bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.barrier != nil {
		g.barrier.forked = forked
		close(g.barrier.lifted)
		g.barrier = nil
	}
}
