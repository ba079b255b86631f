package gate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestAnOpenGateLetsEveryoneIn(t *testing.T) {
	var g Gate
	leave, err := g.Enter()
	if err != nil || g.Pass(context.Background()) != nil {
		t.Fatalf("got %v", err)
	}
	leave()
	g.Open(false)
}

func TestShutWaitsForThoseInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		leave, _ := g.Enter()
		shut := false
		go func() {
			g.Shut()
			shut = true
		}()
		synctest.Wait()
		if shut {
			t.Error("the gate was shut while somebody was inside")
		}
		// Nobody else gets in meanwhile.
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := g.Pass(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		leave()
		synctest.Wait()
		if !shut {
			t.Error("the gate is not shut although nobody is inside")
		}
	})
}

func TestThoseWhoWait(t *testing.T) {
	for name, row := range map[string]struct {
		forked bool
		want   error
	}{"enter in the source": {false, nil}, "are refused in a fork": {true, ErrForked}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g Gate
				g.Shut()
				g.Shut()
				passed, entered := errors.New("waiting"), errors.New("waiting")
				go func() { passed = g.Pass(context.Background()) }()
				go func() { _, entered = g.Enter() }()
				synctest.Wait()
				if passed == nil || entered == nil {
					t.Fatal("somebody passed a shut gate")
				}
				g.Open(row.forked)
				synctest.Wait()
				if passed != nil || !errors.Is(entered, row.want) {
					t.Errorf("got %v and %v", passed, entered)
				}
				if _, err := g.Enter(); err != nil {
					t.Errorf("after the gate was opened: %v", err)
				}
			})
		})
	}
}
