package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
)

const (
	defaultTimeout = time.Minute
	// grace is the time that the server needs to report that it killed a command.
	grace = 15 * time.Second
)

// Commands runs programs in a sandbox.
type Commands struct{ handle }

// ExecutionResult is what a command left.
type ExecutionResult struct {
	Stdout, Stderr string
	// ExitCode is -1 if a signal ended the command. The first runtime reports the negative number of the signal.
	ExitCode int
	// Signal that ended the command, or 0.
	Signal int
	// TimedOut: the command was killed because of its timeout. The output is what it had written.
	TimedOut bool
	// Truncated: output beyond WithMaxOutput was dropped.
	Truncated bool
}

type callOptions struct {
	timeout          time.Duration
	env              map[string]string
	dir, user        string
	stdin            []byte
	maxOutput        int
	stdout, stderr   func(string)
	cols, rows       uint32
	keepRunning      time.Duration
	mode             string
	createOnly       bool
	first, last      int64
	hasRange, toLast bool
	maxAttempts      int
}

// CallOption changes one call.
type CallOption func(*callOptions)

func optionsOf(options []CallOption) callOptions {
	var all callOptions
	for _, option := range options {
		option(&all)
	}
	return all
}

// WithTimeout limits the time of a call, with all repetitions. A command is killed after it.
func WithTimeout(d time.Duration) CallOption { return func(o *callOptions) { o.timeout = d } }

// WithMaxAttempts sets how often a call of the first runtime's API may be sent. Default: 6 for files and 1 for commands, which are never
// sent again after the sandbox may have received them. Numbers below 1 are ignored.
func WithMaxAttempts(n int) CallOption {
	return func(o *callOptions) {
		if n > 0 {
			o.maxAttempts = n
		}
	}
}

// WithEnv sets environment variables of a command.
func WithEnv(env map[string]string) CallOption { return func(o *callOptions) { o.env = env } }

// WithDir sets the working directory of a command.
func WithDir(dir string) CallOption { return func(o *callOptions) { o.dir = dir } }

// WithUser sets the user of a command: a name, "uid" or "uid:gid".
func WithUser(user string) CallOption { return func(o *callOptions) { o.user = user } }

// WithStdin sets the input of a command.
func WithStdin(input []byte) CallOption { return func(o *callOptions) { o.stdin = input } }

// WithMaxOutput drops output beyond this many bytes. Without it, more than 64 MiB are an error.
func WithMaxOutput(size int) CallOption { return func(o *callOptions) { o.maxOutput = size } }

// WithOutput calls the functions with each piece of output as soon as it arrives. Both may be nil.
func WithOutput(stdout, stderr func(string)) CallOption {
	return func(o *callOptions) { o.stdout, o.stderr = orIgnore(stdout), orIgnore(stderr) }
}

func orIgnore(hear func(string)) func(string) {
	if hear == nil {
		return func(string) {}
	}
	return hear
}

// Run runs a script with /bin/sh until it ends. An exit code other than 0 is a result, not an error. Default timeout: one minute.
//
// A handle with RuntimeLegacyPython uses the API of the first runtime instead: no shell sees the command, and a command that takes longer
// than its timeout is an error.
func (c *Commands) Run(ctx context.Context, script string, options ...CallOption) (*ExecutionResult, error) {
	return c.operateRun(ctx, script, nil, options)
}

// RunArgs is like Run for a program with arguments, which no shell sees.
func (c *Commands) RunArgs(ctx context.Context, argv []string, options ...CallOption) (*ExecutionResult, error) {
	return c.operateRun(ctx, "", argv, options)
}

func (c *Commands) operateRun(ctx context.Context, script string, argv []string, options []CallOption) (result *ExecutionResult, err error) {
	o := optionsOf(options)
	about := operation{name: "run", limited: true, attributes: []attribute.KeyValue{attribute.String("sandbox.command.executable", executable(script, argv))}}
	isLegacy := c.reference != nil && c.reference.legacy && argv == nil
	router, _, _ := c.route()
	toPod := router != nil && router.ports != nil
	if isLegacy || toPod {
		about.timeout = o.timeout
	} else {
		// The sandbox kills the command and returns its output.
		about.limitsItself = true
	}
	err = c.operate(ctx, about, func(ctx context.Context) error {
		switch {
		case isLegacy:
			result, err = c.legacyRun(ctx, script, o)
		case toPod:
			result, err = router.grpcRun(ctx, script, argv, o)
		default:
			result, err = c.run(ctx, script, argv, o)
		}
		if err == nil {
			c.tracing.annotate(ctx, attribute.Int("sandbox.exit_code", result.ExitCode))
		}
		return err
	})
	return result, err
}

// executable returns the name of the program without its arguments, which may be secret.
func executable(script string, argv []string) string {
	words := strings.Fields(script)
	if len(argv) > 0 {
		words = argv[:1]
	}
	for _, word := range words {
		if !strings.Contains(word, "=") {
			return path.Base(word)
		}
	}
	return ""
}

func (c *Commands) run(ctx context.Context, script string, argv []string, o callOptions) (*ExecutionResult, error) {
	if o.timeout == 0 {
		o.timeout = defaultTimeout
		if c.reference != nil {
			o.timeout = c.reference.requestTimeout
		}
	}
	config, doing, err := configOf(script, argv, o)
	if err != nil {
		return nil, err
	}
	if o.stdout != nil {
		return c.runStreaming(ctx, script, argv, o)
	}
	ctx, cancel := limit(ctx, o.timeout+grace, doing)
	defer cancel()
	message := map[string]any{"config": config, "requestId": newRequestID()}
	if o.stdin != nil {
		message["stdin"] = o.stdin
	}
	if o.maxOutput > 0 {
		message["maxOutputBytes"] = o.maxOutput
	}
	var response struct {
		exitMessage
		Stdout, Stderr []byte
		Truncated      bool
	}
	if err := c.unary(ctx, attempt{doing: doing, repeatable: true}, "Execute", message, &response); err != nil {
		return nil, err
	}
	return &ExecutionResult{
		Stdout: textOf(response.Stdout), Stderr: textOf(response.Stderr), ExitCode: response.ExitCode, Signal: response.Signal,
		TimedOut: response.TimedOut, Truncated: response.Truncated,
	}, nil
}

func (c *Commands) runStreaming(ctx context.Context, script string, argv []string, o callOptions) (*ExecutionResult, error) {
	process, err := c.start(ctx, script, argv, o)
	if err != nil {
		return nil, err
	}
	defer process.Close()
	if o.stdin != nil {
		if err := process.Write(ctx, o.stdin); err != nil && !hasEnded(err) {
			return nil, err
		}
	}
	if err := process.CloseInput(ctx); err != nil && !hasEnded(err) {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	truncated := false
	for piece, err := range process.Output(ctx) {
		if err != nil {
			return nil, err
		}
		buffer, hear := &stdout, o.stdout
		if piece.Stderr {
			buffer, hear = &stderr, o.stderr
		}
		hear(textOf(piece.Data))
		if room := o.maxOutput - stdout.Len() - stderr.Len(); o.maxOutput > 0 && len(piece.Data) > room {
			truncated = true
			piece.Data = piece.Data[:max(0, room)]
		}
		buffer.Write(piece.Data)
	}
	exit, err := process.Wait(ctx)
	if err != nil {
		return nil, err
	}
	return &ExecutionResult{
		Stdout: textOf(stdout.Bytes()), Stderr: textOf(stderr.Bytes()), ExitCode: exit.ExitCode, Signal: exit.Signal, TimedOut: exit.TimedOut,
		Truncated: truncated,
	}, nil
}

// hasEnded: a command need not read its input, and may have ended. The runtime then reports that its pipe is closed.
func hasEnded(err error) bool {
	return IsReason(err, Conflict) || IsReason(err, NotFound) || IsReason(err, Internal)
}

func configOf(script string, argv []string, o callOptions) (config map[string]any, doing string, err error) {
	config, doing = map[string]any{}, "Cannot run the command"
	switch {
	case script != "":
		config["shell"] = script
	case len(argv) > 0:
		// Arguments may be secret, so errors contain only the program.
		config["command"], doing = argv, fmt.Sprintf("Cannot run %q", argv[0])
	default:
		return nil, "", failf(InvalidArgument, "Cannot run an empty command")
	}
	if o.env != nil {
		config["envVars"] = o.env
	}
	if o.dir != "" {
		config["cwd"] = o.dir
	}
	if o.user != "" {
		config["user"] = o.user
	}
	if o.timeout > 0 {
		config["timeout"] = duration(o.timeout)
	}
	return config, doing, nil
}

// duration has the JSON form of protobuf.
func duration(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }

// textOf replaces each invalid byte by one character.
func textOf(data []byte) string {
	if utf8.Valid(data) {
		return string(data)
	}
	var text bytes.Buffer
	for len(data) > 0 {
		character, size := utf8.DecodeRune(data)
		text.WriteRune(character)
		data = data[size:]
	}
	return text.String()
}

type exitMessage struct {
	ExitCode int  `json:"exitCode"`
	Signal   int  `json:"signal"`
	TimedOut bool `json:"timedOut"`
}

var errDisconnected = errors.New("the process was disconnected")
