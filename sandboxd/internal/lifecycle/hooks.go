package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
)

const (
	// maxHookOutput is how much output of a hook is written to the log.
	maxHookOutput = 64 << 10
	// maxExecutables is the limit of executables in the folder of a hook.
	maxExecutables = 64
)

// runHook runs the executables of a hook, one after the other, with the variables of the sandbox in their environment. It
// returns what failed.
func (l *Lifecycle) runHook(name string) []error {
	executables, err := findHook(filepath.Join(l.HooksDir, name))
	if err != nil {
		return []error{fmt.Errorf("cannot run hook %q: %w", name, err)}
	}
	var failures []error
	deadline := time.Now().Add(l.hookTime)
	for _, file := range executables {
		if err := l.runExecutable(file, time.Until(deadline)); err != nil {
			failures = append(failures, fmt.Errorf("hook %q failed: %w", file, err))
		}
	}
	return failures
}

// findHook returns the executables of a hook: the file itself, or the executable files in the folder, sorted by name. A
// sandbox without the hook has none.
func findHook(path string) ([]string, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if !isExecutable(info) {
			return nil, errors.New("it is not an executable file")
		}
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var found []string
	for _, entry := range entries {
		file := filepath.Join(path, entry.Name())
		// Editors and ConfigMap volumes leave hidden entries.
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		if info, err := os.Stat(file); err == nil && isExecutable(info) {
			found = append(found, file)
		}
	}
	if len(found) > maxExecutables {
		return nil, fmt.Errorf("it has more than %d executables", maxExecutables)
	}
	return found, nil
}

func isExecutable(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func (l *Lifecycle) runExecutable(file string, limit time.Duration) error {
	if limit <= 0 {
		return errors.New("the time of the hook is over")
	}
	started, err := l.Processes.Start(process.Spec{
		Argv: []string{file}, Env: l.Environment.Current().Variables(), AbsoluteCwd: "/", Timeout: limit,
		Origin: process.OriginHook, WhileStopped: true, Follow: true,
	})
	if err != nil {
		return err
	}
	defer l.Processes.Forget(started)
	defer started.First.Close()
	output, _ := process.Collect(context.Background(), started.First, maxHookOutput, false)
	<-started.Done()
	_, _ = l.Log.Write(append(output.Stdout, output.Stderr...))
	exit, _ := started.Exit()
	slog.Info("hook ended", "file", file, "exit_code", exit.Code)
	switch {
	case exit.TimedOut:
		return fmt.Errorf("killed after the limit of %v", l.hookTime)
	case exit.Signal != 0:
		return fmt.Errorf("ended by signal %d", exit.Signal)
	case exit.Code != 0:
		return fmt.Errorf("exit status %d", exit.Code)
	}
	return nil
}
