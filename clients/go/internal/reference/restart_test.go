package reference

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-sandbox/agent-sandbox/clients/go/sandbox"
)

// TestRestart kills the box while commands run through a tunnel. Each command has a result or an error, and none runs twice.
func TestRestart(t *testing.T) {
	w := theWorld(t)
	_, box := w.create(t, sandbox.Options{})
	const commands, workers = 60, 6
	var succeeded, failures [commands]atomic.Bool
	var count atomic.Int32
	var failed atomic.Int32
	restarted := make(chan struct{})
	restart := sync.OnceFunc(func() {
		go func() {
			defer close(restarted)
			if text, err := exec.Command("sh", "-c", os.Getenv("RESTART_COMMAND")).CombinedOutput(); err != nil {
				t.Errorf("cannot restart the box: %v: %s", err, text)
			}
		}()
	})
	work := func(number int) {
		result, err := box.Run(t.Context(), fmt.Sprintf("sh -c 'echo %d >> ran; sleep 0.05; echo %d'", number, number))
		if err == nil {
			succeeded[number].Store(result.Stdout == fmt.Sprintln(number))
			if count.Add(1) == commands/3 {
				restart()
			}
			return
		}
		failures[number].Store(true)
		failed.Add(1)
		<-restarted
		if err := reopen(t.Context(), box); err != nil {
			t.Errorf("cannot open the handle again: %v", err)
		}
	}
	numbers := make(chan int)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for number := range numbers {
				if !t.Failed() {
					work(number)
				}
			}
		})
	}
	for number := range commands {
		numbers <- number
	}
	close(numbers)
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	content, err := box.Read(t.Context(), "ran")
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for line := range strings.FieldsSeq(string(content)) {
		times[line]++
	}
	for number := range commands {
		ran := times[fmt.Sprint(number)]
		if ran > 1 || ran == 0 && succeeded[number].Load() || succeeded[number].Load() == failures[number].Load() {
			t.Errorf("command %d ran %d times; succeeded: %v, failed: %v", number, ran, succeeded[number].Load(), failures[number].Load())
		}
	}
	if failed.Load() == 0 {
		t.Error("no command noticed that the box was killed")
	}
}

// reopen opens the handle when the API server serves again.
func reopen(ctx context.Context, box *sandbox.Sandbox) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err := box.Open(ctx)
		if err == nil || errors.Is(err, sandbox.ErrAlreadyOpen) {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}
