package legacy

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
)

const (
	limitVariable = "SANDBOX_EXEC_TIMEOUT_SECONDS"
	usualLimit    = 300 * time.Second
	// maxOutputBytes is the limit of output in a response.
	maxOutputBytes = 64 << 20
	// headersAfter is when the headers are sent even if the command still runs, because proxies may have a timeout for
	// headers. The status is always 200.
	headersAfter = 10 * time.Second
)

// failureHeader distinguishes a command that could not run from one that exited with 1.
const failureHeader = "X-Sandbox-Exec-Error"

// timeoutExitCode is the exit code of timeout(1), which clients of the runtime use as well.
const timeoutExitCode = 124

// result is the response of /execute.
type result struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode int    `json:"exit_code"`
	// TimedOut is set if the command was killed because of its time limit.
	TimedOut bool `json:"timed_out,omitempty"`
	// The exact bytes, if they are not valid UTF-8.
	StdoutBase64 string `json:"stdout_base64,omitempty"`
	StderrBase64 string `json:"stderr_base64,omitempty"`

	failure string
}

func failed(kind string, err error) result {
	return result{Stderr: "Failed to execute command: " + err.Error(), ExitCode: 1, failure: kind}
}

// execute runs a command. It is killed when the client disconnects, unless the client sent an X-Request-ID and retries.
func (h *Handler) execute(w http.ResponseWriter, r *http.Request, _ string) {
	command, wrong, err := readCommand(w, r)
	if err != nil {
		detail(w, http.StatusRequestEntityTooLarge, "Request body too large")
		return
	}
	if wrong != nil {
		detail(w, http.StatusUnprocessableEntity, []*complaint{wrong})
		return
	}
	limit := timeLimit(command, r.Header.Get("X-Sandbox-Timeout"))
	answer := make(chan result, 1)
	go func() {
		result, err := h.executed.Do(r.Context(), requestKey(r, command), func(ctx context.Context) result {
			return h.run(ctx, command, limit)
		})
		if err != nil {
			result = failed("cancelled", err)
		}
		answer <- result
	}()
	h.answer(w, answer)
}

func (h *Handler) answer(w http.ResponseWriter, answer <-chan result) {
	select {
	case result := <-answer:
		if result.failure != "" {
			w.Header().Set(failureHeader, result.failure)
		}
		write(w, http.StatusOK, result)
	case <-time.After(h.headersAfter):
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		write(headSent{w}, http.StatusOK, <-answer)
	}
}

// headSent is a response whose headers have been sent.
type headSent struct{ http.ResponseWriter }

func (headSent) WriteHeader(int) {}

func requestKey(r *http.Request, command command) string {
	id := r.Header.Get("X-Request-ID")
	if id == "" {
		return ""
	}
	digest := sha256.Sum256([]byte(command.text))
	return id + "\x00" + string(digest[:])
}

// timeLimit returns the client's timeout, limited by the operator's, or the default.
func timeLimit(command command, header string) time.Duration {
	asked := command.timeout
	if seconds, ok := positiveSeconds(header); ok && (asked == 0 || seconds < asked) {
		asked = seconds
	}
	configured := os.Getenv(limitVariable)
	most, ok := positiveSeconds(configured)
	if configured != "" && !ok {
		slog.Warn("invalid exec timeout: want a finite number above 0", "variable", limitVariable, "value", configured)
	}
	switch {
	case asked > 0 && asked < maxSeconds && (!ok || asked < most):
		return time.Duration(asked * float64(time.Second))
	case ok:
		return time.Duration(most * float64(time.Second))
	}
	return usualLimit
}

func (h *Handler) run(ctx context.Context, command command, limit time.Duration) result {
	select {
	case h.commands <- struct{}{}:
		defer func() { <-h.commands }()
	case <-ctx.Done():
		return failed("cancelled", context.Cause(ctx))
	}
	words, err := splitWords(command.text)
	if err != nil {
		return failed("invalid-command", err)
	}
	p, err := h.processes.Start(process.Spec{
		Argv: words, AbsoluteCwd: h.baseDir(), Timeout: limit, Session: true, Origin: process.OriginLegacy, Follow: true,
	})
	if err != nil {
		return failed(startFailure(err), err)
	}
	defer h.processes.Forget(p)
	defer p.KillTreeUnlessEnded()
	defer p.First.Close()
	output, err := process.Collect(ctx, p.First, maxOutputBytes, true)
	if errors.Is(err, process.ErrTooMuch) {
		return failed("too-much-output", fmt.Errorf("the output is more than %d bytes", maxOutputBytes))
	}
	if err != nil {
		return failed("cancelled", err)
	}
	<-p.Done()
	if exit, _ := p.Exit(); exit.TimedOut && command.timeout == 0 {
		return expired(p, limit)
	}
	return finished(p, output)
}

// expired is the result for clients that did not ask for a limit. The first runtime returns no output.
func expired(p *process.Process, limit time.Duration) result {
	answer := failed("timeout", runtimeError(fmt.Sprintf("Command %q timed out after %v seconds", strings.Join(p.Argv, " "), limit.Seconds())))
	answer.TimedOut = true
	return answer
}

func startFailure(err error) string {
	var known *process.StartError
	if !errors.As(err, &known) {
		return "internal"
	}
	switch known.Kind {
	case process.NotFound:
		return "not-found"
	case process.Denied:
		return "permission-denied"
	case process.Invalid:
		return "invalid-command"
	case process.Exhausted:
		return "exhausted"
	}
	return "internal"
}

func finished(p *process.Process, output process.Output) result {
	exit, _ := p.Exit()
	answer := result{ExitCode: exit.Code}
	switch {
	case exit.TimedOut:
		answer.ExitCode, answer.TimedOut, answer.failure = timeoutExitCode, true, "timeout"
	case exit.Signal != 0:
		answer.ExitCode = -int(exit.Signal)
	}
	answer.Stdout, answer.StdoutBase64 = text(output.Stdout)
	answer.Stderr, answer.StderrBase64 = text(output.Stderr)
	return answer
}

// text returns bytes as text. If they are not valid UTF-8, it also returns them in base64. The JSON encoder writes each
// invalid byte as one replacement character.
func text(data []byte) (readable, exact string) {
	if utf8.Valid(data) {
		return string(data), ""
	}
	return string(data), base64.StdEncoding.EncodeToString(data)
}
