// Command contract runs the cases of test/sdk/contract.json: one JSON object per line on the standard input, one outcome per line on
// the standard output. The arguments are the data folder of a box and the name of a sandbox.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/agent-sandbox/agent-sandbox/clients/go/sandbox"
)

type arguments struct {
	Script         string            `json:"script"`
	Argv           []string          `json:"argv"`
	Env            map[string]string `json:"env"`
	Cwd            string            `json:"cwd"`
	User           string            `json:"user"`
	Stdin          *string           `json:"stdin"`
	TimeoutSeconds float64           `json:"timeout_seconds"`
	MaxOutputBytes int               `json:"max_output_bytes"`
	Stream         bool              `json:"stream"`
	Token          string            `json:"token"`

	Write           *string `json:"write"`
	KillAfterOutput bool    `json:"kill_after_output"`
	Terminal        *struct{ Cols, Rows uint32 }
	ID              int     `json:"id"`
	KeepRunning     float64 `json:"keep_running_seconds"`

	Path, Text, Mode, From, To string
	CreateOnly                 bool `json:"create_only"`
	Recursive                  bool
	First                      *int64
	Last                       *int64

	Count, Concurrency int

	Code, Name, Image, Pool string
	Command                 []string
	Port                    int
	Labels                  map[string]string
}

type fields map[string]any

type world struct {
	client *sandbox.Client
	box    *sandbox.Sandbox
	data   string
}

func main() {
	ctx := context.Background()
	w := &world{data: os.Args[1]}
	var err error
	if w.client, err = sandbox.Connect(ctx, sandbox.Options{DataDir: w.data}); err == nil {
		w.box, err = w.client.Get(ctx, os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var each struct {
			Call string
			With arguments
		}
		if err := json.Unmarshal(lines.Bytes(), &each); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		result, err := w.call(ctx, each.Call, each.With)
		outcome := fields{"result": result}
		var failure *sandbox.Error
		if errors.As(err, &failure) {
			outcome = fields{"error": fields{"reason": failure.Reason, "message": failure.Message, "status": failure.Status}}
		} else if err != nil {
			outcome = fields{"error": fields{"reason": "none", "message": err.Error()}}
		}
		text, _ := json.Marshal(outcome)
		fmt.Println(string(text))
	}
}

func (w *world) call(ctx context.Context, name string, with arguments) (fields, error) {
	files := w.box.Files()
	switch name {
	case "run":
		return w.run(ctx, with)
	case "start":
		return w.start(ctx, with)
	case "attach":
		return w.attach(ctx, with)
	case "write":
		var options []sandbox.CallOption
		if with.Mode != "" {
			options = append(options, sandbox.WithMode(with.Mode))
		}
		if with.CreateOnly {
			options = append(options, sandbox.WithCreateOnly())
		}
		return fields{}, files.Write(ctx, with.Path, []byte(with.Text), options...)
	case "append":
		return fields{}, files.Append(ctx, with.Path, []byte(with.Text))
	case "read":
		var options []sandbox.CallOption
		if with.First != nil {
			options = append(options, sandbox.WithRange(*with.First, *with.Last))
		}
		content, err := files.Read(ctx, with.Path, options...)
		return fields{"text": string(content)}, err
	case "list":
		found, err := files.List(ctx, with.Path)
		entries := []fields{}
		for _, each := range found {
			entries = append(entries, fields{"name": each.Name, "type": each.Type, "size": each.Size, "mode": each.Mode})
		}
		return fields{"entries": entries}, err
	case "stat":
		info, err := files.Stat(ctx, with.Path)
		if err != nil {
			return nil, err
		}
		return fields{"path": info.Path, "name": info.Name, "type": info.Type, "size": info.Size, "mode": info.Mode}, nil
	case "exists":
		exists, err := files.Exists(ctx, with.Path)
		return fields{"exists": exists}, err
	case "copy":
		return fields{}, files.Copy(ctx, with.From, with.To)
	case "move":
		return fields{}, files.Move(ctx, with.From, with.To)
	case "chmod":
		return fields{}, files.Chmod(ctx, with.Path, with.Mode)
	case "make_dir":
		return fields{}, files.MakeDir(ctx, with.Path)
	case "remove":
		return fields{}, files.Delete(ctx, with.Path, with.Recursive)
	}
	return w.more(ctx, name, with)
}

func (w *world) more(ctx context.Context, name string, with arguments) (fields, error) {
	switch name {
	case "run_many":
		return w.runMany(ctx, with)
	case "run_code":
		return w.runCode(ctx, with)
	case "wait_for_port":
		var options []sandbox.CallOption
		if with.TimeoutSeconds > 0 {
			options = append(options, sandbox.WithTimeout(seconds(with.TimeoutSeconds)))
		}
		return fields{}, w.box.WaitForPort(ctx, with.Port, options...)
	case "status":
		status, err := w.box.Status(ctx)
		return fields{"phase": status.Phase}, err
	case "list_sandboxes":
		found, err := w.client.List(ctx, with.Labels)
		return fields{"count": len(found)}, err
	case "get":
		_, err := w.client.Get(ctx, with.Name)
		return nil, err
	case "create":
		created, err := w.client.Create(ctx, sandbox.CreateOptions{Image: with.Image, Pool: with.Pool, Name: with.Name, Command: with.Command})
		if err != nil {
			return nil, err
		}
		found := fields{"name": created.Name}
		return found, created.Close(ctx)
	}
	return nil, fmt.Errorf("unknown call %q", name)
}

func seconds(value float64) time.Duration { return time.Duration(value * float64(time.Second)) }

func (w *world) run(ctx context.Context, with arguments) (fields, error) {
	box := w.box
	if with.Token != "" {
		stranger, err := sandbox.Connect(ctx, sandbox.Options{DataDir: w.data, Token: with.Token})
		if err != nil {
			return nil, err
		}
		if box, err = stranger.Get(ctx, w.box.Name); err != nil {
			return nil, err
		}
	}
	var streamed strings.Builder
	options := []sandbox.CallOption{sandbox.WithEnv(with.Env), sandbox.WithDir(with.Cwd), sandbox.WithUser(with.User), sandbox.WithMaxOutput(with.MaxOutputBytes)}
	if with.Stdin != nil {
		options = append(options, sandbox.WithStdin([]byte(*with.Stdin)))
	}
	if with.TimeoutSeconds > 0 {
		options = append(options, sandbox.WithTimeout(seconds(with.TimeoutSeconds)))
	}
	if with.Stream {
		hear := func(text string) { streamed.WriteString(text) }
		options = append(options, sandbox.WithOutput(hear, hear))
	}
	var result *sandbox.ExecutionResult
	var err error
	if with.Argv != nil {
		result, err = box.Commands().RunArgs(ctx, with.Argv, options...)
	} else {
		result, err = box.Commands().Run(ctx, with.Script, options...)
	}
	if err != nil {
		return nil, err
	}
	found := fields{
		"exit_code": result.ExitCode, "stdout": result.Stdout, "stderr": result.Stderr, "timed_out": result.TimedOut,
		"truncated": result.Truncated,
	}
	if result.Signal != 0 {
		found["signal"] = result.Signal
	}
	if with.Stream {
		found["streamed"] = streamed.String()
	}
	return found, nil
}

func (w *world) start(ctx context.Context, with arguments) (fields, error) {
	var options []sandbox.CallOption
	if with.Terminal != nil {
		options = append(options, sandbox.WithTerminal(with.Terminal.Cols, with.Terminal.Rows))
	}
	if with.KeepRunning > 0 {
		options = append(options, sandbox.WithKeepRunning(seconds(with.KeepRunning)))
	}
	process, err := w.box.Commands().Start(ctx, with.Script, options...)
	if err != nil {
		return nil, err
	}
	defer process.Close()
	if with.Write != nil {
		if err := process.Write(ctx, []byte(*with.Write)); err != nil {
			return nil, err
		}
	}
	return output(ctx, process, with.KillAfterOutput)
}

func (w *world) attach(ctx context.Context, with arguments) (fields, error) {
	if with.Script == "" {
		_, err := w.box.Commands().Attach(ctx, with.ID)
		return nil, err
	}
	first, err := w.box.Commands().Start(ctx, with.Script)
	if err != nil {
		return nil, err
	}
	process, err := w.box.Commands().Attach(ctx, first.ID)
	if err != nil {
		return nil, err
	}
	first.Close()
	defer process.Close()
	return output(ctx, process, false)
}

func output(ctx context.Context, process *sandbox.Process, kill bool) (fields, error) {
	var text strings.Builder
	for piece, err := range process.Output(ctx) {
		if err != nil {
			return nil, err
		}
		if text.Len() == 0 && kill {
			if err := process.Signal(ctx, "SIGKILL"); err != nil {
				return nil, err
			}
		}
		text.Write(piece.Data)
	}
	exit, err := process.Wait(ctx)
	if err != nil {
		return nil, err
	}
	found := fields{"output": text.String(), "exit_code": exit.ExitCode}
	if exit.Signal != 0 {
		found["signal"] = exit.Signal
	}
	return found, nil
}

func (w *world) runCode(ctx context.Context, with arguments) (fields, error) {
	result, err := w.box.RunCode(ctx, with.Code)
	if err != nil {
		return nil, err
	}
	found := fields{"stdout": result.Stdout}
	if result.Text != "" {
		found["text"] = result.Text
	}
	if result.Error != nil {
		found["error_name"], found["error_message"] = result.Error.Name, result.Error.Message
	}
	return found, nil
}

// runMany runs numbered commands concurrently. Each appends its number to the file "ran".
func (w *world) runMany(ctx context.Context, with arguments) (fields, error) {
	var mu sync.Mutex
	succeeded, failures := []int{}, []string{}
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range with.Concurrency {
		workers.Go(func() {
			for number := range numbers {
				script := fmt.Sprintf("sleep 0.05; echo %d >> ran; echo %d", number, number)
				result, err := w.box.Commands().Run(ctx, script, sandbox.WithTimeout(2*time.Minute))
				mu.Lock()
				if err != nil {
					failures = append(failures, err.Error())
				} else if result.Stdout == fmt.Sprintln(number) {
					succeeded = append(succeeded, number)
				}
				mu.Unlock()
			}
		})
	}
	for number := range with.Count {
		numbers <- number
	}
	close(numbers)
	workers.Wait()
	return fields{"succeeded": succeeded, "failures": failures}, nil
}
