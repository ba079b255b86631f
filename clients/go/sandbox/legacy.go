package sandbox

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	mathrand "math/rand/v2"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
)

// The limits of the reference's client.
const (
	maxRunBytes  = 16 << 20
	maxListBytes = 8 << 20
	fileAttempts = 6
)

// legacyCall is a request to the API of the first runtime.
type legacyCall struct {
	operation    string
	method, path string
	body         []byte
	contentType  string
	options      callOptions
	// runs: the request must not have its effect twice, and this runtime does not recognise a repeated one.
	runs     bool
	attempts int
	maxBytes int64
	tooLarge error
}

// legacy sends a request until it succeeds, fails for good, or was tried as often as it may be.
func (h handle) legacy(ctx context.Context, c legacyCall) ([]byte, error) {
	if c.options.maxAttempts > 0 {
		c.attempts = c.options.maxAttempts
	}
	var random [8]byte
	_, _ = rand.Read(random[:])
	id := hex.EncodeToString(random[:])
	h.tracing.annotate(ctx, attribute.String("sandbox.request_id", id))
	for number := 1; ; number++ {
		content, err := h.legacyOnce(ctx, c, id)
		if err == nil {
			return content, nil
		}
		var failure *Error
		if !errors.As(err, &failure) || !failure.transient || ctx.Err() != nil {
			return nil, ended(ctx, err)
		}
		h.reference.forgetPodIP()
		if c.runs && failure.sent {
			return nil, err
		}
		if number >= c.attempts {
			if c.attempts == 1 {
				return nil, err
			}
			return nil, fmt.Errorf("%w after %d attempts: %w", ErrRetriesExhausted, number, err)
		}
		select {
		case <-time.After(pauseBefore(number + 1)):
		case <-ctx.Done():
			return nil, ended(ctx, err)
		}
	}
}

// pauseBefore returns the pause before an attempt: none before the second, then 0.5 s doubling to 8 s, a quarter more or less.
func pauseBefore(number int) time.Duration {
	if number <= 2 {
		return 0
	}
	pause := min(8*time.Second, 500*time.Millisecond<<min(number-3, 10))
	return pause*3/4 + mathrand.N(pause/2)
}

func (h handle) legacyOnce(ctx context.Context, c legacyCall, id string) ([]byte, error) {
	router, to, err := h.route()
	if err != nil {
		return nil, err
	}
	patience := h.patience(c.options)
	header := map[string]string{"X-Sandbox-Timeout": strconv.FormatFloat(secondsLeft(ctx, patience), 'f', -1, 64)}
	if !c.runs {
		// With an id, a command would run on for ten seconds after its client has gone, so that the client can ask again.
		header["X-Request-ID"] = id
	}
	if c.contentType != "" {
		header["Content-Type"] = c.contentType
	}
	if address := h.reference.podIP(); address != "" {
		header["X-Sandbox-Pod-IP"] = address
	}
	doing := "Cannot " + c.operation
	late := &Error{Reason: TimedOut, Message: fmt.Sprintf("%s: no response within %v", doing, patience), transient: true, sent: true}
	waiting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(patience, func() { cancel(late) })
	response, err := router.sendOnce(waiting, to, call{
		attempt: attempt{doing: doing}, port: h.reference.serverPort, method: c.method, path: c.path, header: header, body: c.body,
		refuse: func(status int, body []byte) *Error { return refusal(c.operation, doing, status, body) },
	}, "")
	timer.Stop()
	if err != nil {
		if errors.Is(context.Cause(waiting), late) {
			return nil, late
		}
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(io.LimitReader(response.Body, c.maxBytes+1))
	if err != nil {
		return nil, lost(doing, err, true)
	}
	if int64(len(content)) > c.maxBytes {
		return nil, c.tooLarge
	}
	return content, nil
}

// patience is the time to a response of one attempt.
func (h handle) patience(o callOptions) time.Duration {
	if o.timeout > 0 {
		return o.timeout
	}
	return h.reference.perAttemptTimeout
}

// secondsLeft returns the time of an attempt, in whole milliseconds.
func secondsLeft(ctx context.Context, patience time.Duration) float64 {
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline))
	}
	return max(0.001, math.Ceil(patience.Seconds()*1000)/1000)
}

// refusal is the error of an unsuccessful response. Statuses that mean a passing problem are retried.
func refusal(operation, doing string, status int, body []byte) *Error {
	text := string(body[:min(len(body), maxErrorBody)])
	var detail struct{ Message, Detail string }
	_ = json.Unmarshal(body, &detail)
	passing := status == 500 || status == 502 || status == 503 || status == 504
	reason := reasonOr(kubeReasons[status])
	if passing {
		reason = Unreachable
	}
	return &Error{
		Reason: reason, Status: status, Body: text, transient: passing, sent: true,
		Message: fmt.Sprintf("%s: the sandbox answered %d: %s", doing, status, firstOf(detail.Message, detail.Detail, text)),
		cause:   &HTTPError{StatusCode: status, Body: text, Operation: operation},
	}
}

// legacyRun runs a command that the runtime splits into words. No shell sees it.
func (h handle) legacyRun(ctx context.Context, command string, o callOptions) (*ExecutionResult, error) {
	if o.env != nil || o.dir != "" || o.user != "" || o.stdin != nil || o.stdout != nil || o.maxOutput != 0 {
		return nil, fmt.Errorf("%w: environment, directory, user, input, streaming and WithMaxOutput need RunArgs or RuntimeSandboxd", ErrUnsupportedByRuntime)
	}
	// The first runtime of the reference ignores the timeout. Ours kills the command.
	body, err := json.Marshal(map[string]any{"command": command, "timeout_seconds": secondsLeft(ctx, h.patience(o))})
	if err != nil {
		return nil, err
	}
	content, err := h.legacy(ctx, legacyCall{
		operation: "run", method: http.MethodPost, path: "/execute", body: body, contentType: "application/json", options: o,
		runs: true, attempts: 1, maxBytes: maxRunBytes, tooLarge: ErrResponseTooLarge,
	})
	if err != nil {
		return nil, err
	}
	answer := struct {
		Stdout, Stderr string
		ExitCode       int  `json:"exit_code"`
		TimedOut       bool `json:"timed_out"`
	}{ExitCode: -1}
	if err := json.Unmarshal(content, &answer); err != nil {
		return nil, &Error{Reason: Internal, Message: "Cannot run: the sandbox sent no result", cause: err}
	}
	if answer.TimedOut {
		// The client and the sandbox have the same deadline, and either may notice it first.
		return nil, failf(TimedOut, "Cannot run: the command was killed at its timeout")
	}
	return &ExecutionResult{Stdout: answer.Stdout, Stderr: answer.Stderr, ExitCode: answer.ExitCode}, nil
}

func (h handle) legacyWrite(ctx context.Context, path string, content []byte, o callOptions) error {
	if o.mode != "" || o.createOnly {
		return fmt.Errorf("%w: WithMode and WithCreateOnly need RuntimeSandboxd", ErrUnsupportedByRuntime)
	}
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	escaped := strings.NewReplacer("\\", "\\\\", `"`, "\\\"").Replace(path)
	part, err := writer.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="file"; filename="` + escaped + `"`}, "Content-Type": {"application/octet-stream"},
	})
	if err == nil {
		if _, err = part.Write(content); err == nil {
			err = writer.Close()
		}
	}
	if err != nil {
		return err
	}
	_, err = h.legacy(ctx, legacyCall{
		operation: "write", method: http.MethodPost, path: "/upload", body: form.Bytes(), contentType: writer.FormDataContentType(), options: o,
		attempts: fileAttempts, maxBytes: maxListBytes, tooLarge: errTooLarge,
	})
	return err
}

var errTooLarge = failf(LimitExceeded, "Cannot read the response: it is larger than 8 MiB")

func (h handle) legacyGet(ctx context.Context, operation, path string, maxBytes int64, o callOptions) ([]byte, error) {
	return h.legacy(ctx, legacyCall{
		operation: operation, method: http.MethodGet, path: path, options: o, attempts: fileAttempts, maxBytes: maxBytes,
		tooLarge: failf(LimitExceeded, "Cannot %s: the response is larger than %d bytes", operation, maxBytes),
	})
}

func (h handle) legacyList(ctx context.Context, path string, o callOptions) ([]FileEntry, error) {
	content, err := h.legacyGet(ctx, "list", "/list/"+encodeWhole(path), maxListBytes, o)
	if err != nil {
		return nil, err
	}
	var found []struct {
		Name    string
		Size    int64
		Type    FileType
		ModTime json.RawMessage `json:"mod_time"`
	}
	if err := json.Unmarshal(content, &found); err != nil {
		return nil, &Error{Reason: Internal, Message: "Cannot list: the sandbox sent no list", cause: err}
	}
	entries := []FileEntry{}
	for _, each := range found {
		if each.Type != FileTypeFile && each.Type != FileTypeDirectory {
			continue
		}
		entry := FileEntry{Name: each.Name, Size: each.Size, Type: each.Type}
		if seconds, err := strconv.ParseFloat(string(each.ModTime), 64); err == nil {
			whole, fraction := math.Modf(seconds)
			entry.ModTime = time.Unix(int64(whole), int64(fraction*1e9)).UTC()
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func (h handle) legacyExists(ctx context.Context, path string, o callOptions) (bool, error) {
	content, err := h.legacyGet(ctx, "exists", "/exists/"+encodeWhole(path), maxListBytes, o)
	if err != nil {
		return false, err
	}
	var answer struct{ Exists bool }
	if err := json.Unmarshal(content, &answer); err != nil {
		return false, &Error{Reason: Internal, Message: "Cannot exists: the sandbox sent no answer", cause: err}
	}
	return answer.Exists, nil
}
