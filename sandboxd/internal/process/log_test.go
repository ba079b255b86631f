package process

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"
)

func readAll(t *testing.T, reader *Reader) (stdout, stderr []byte, lost uint64) {
	t.Helper()
	for {
		piece, err := reader.Next(context.Background(), 1000)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		lost += piece.Lost
		if piece.Stream == Stderr {
			stderr = append(stderr, piece.Data...)
		} else {
			stdout = append(stdout, piece.Data...)
		}
	}
}

func TestABlockingReaderMissesNothing(t *testing.T) {
	log := newLog(16 << 10)
	reader := log.Read(0, true)
	defer reader.Close()
	var wantOut, wantErr []byte
	random := rand.New(rand.NewPCG(1, 2))
	type write struct {
		stream Stream
		data   []byte
	}
	var writes []write
	for i := range 500 {
		w := write{Stream(random.IntN(2)), bytes.Repeat([]byte{byte(i)}, random.IntN(6000))}
		writes = append(writes, w)
		if w.stream == Stderr {
			wantErr = append(wantErr, w.data...)
		} else {
			wantOut = append(wantOut, w.data...)
		}
	}
	go func() {
		for _, w := range writes {
			log.Append(w.stream, w.data)
		}
		log.Close()
	}()
	stdout, stderr, lost := readAll(t, reader)
	if !bytes.Equal(stdout, wantOut) || !bytes.Equal(stderr, wantErr) || lost != 0 {
		t.Errorf("got %d and %d bytes and lost %d, want %d and %d", len(stdout), len(stderr), lost, len(wantOut), len(wantErr))
	}
}

func TestABlockingReaderHoldsTheWriterBack(t *testing.T) {
	log := newLog(16 << 10)
	reader := log.Read(0, true)
	done := make(chan struct{})
	go func() {
		log.Append(Stdout, make([]byte, 1<<20))
		close(done)
	}()
	var before uint64
	for {
		_, next := log.Bounds()
		if next == before && next > 0 {
			break
		}
		before = next
		time.Sleep(20 * time.Millisecond)
	}
	if before > 16<<10 {
		t.Errorf("%d bytes went into a log of 16 KiB", before)
	}
	select {
	case <-done:
		t.Error("the writer was not held back")
	default:
	}
	reader.Close()
	<-done
}

func TestALogKeepsTheLatestWithinItsBound(t *testing.T) {
	log := newLog(16 << 10)
	for i := range 100_000 {
		// The worst case for bookkeeping: single bytes of alternating streams.
		log.Append(Stream(i%2), []byte{byte(i)})
	}
	log.Close()
	if log.size > 16<<10 || len(log.chunks) > (16<<10)/chunkOverhead {
		t.Errorf("the log holds %d in %d chunks", log.size, len(log.chunks))
	}
	stdout, stderr, lost := readAll(t, log.Read(0, false))
	if lost+uint64(len(stdout)+len(stderr)) != 100_000 || lost == 0 {
		t.Errorf("got %d and %d bytes and lost %d", len(stdout), len(stderr), lost)
	}
}

func TestReadersBeginAnywhere(t *testing.T) {
	log := newLog(16 << 10)
	log.Append(Stdout, []byte("0123"))
	log.Append(Stderr, []byte("45"))
	log.Append(Stdout, []byte("6789"))
	log.Close()
	for from, want := range map[uint64][2]string{0: {"01236789", "45"}, 3: {"36789", "45"}, 5: {"6789", "5"}, 10: {"", ""}, 99: {"", ""}} {
		stdout, stderr, lost := readAll(t, log.Read(from, false))
		if string(stdout) != want[0] || string(stderr) != want[1] || lost != 0 {
			t.Errorf("from %d: %q %q", from, stdout, stderr)
		}
	}
}

func TestANextEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := newLog(1<<14).Read(0, true).Next(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
