// Command sandboxd supervises the command of a sandbox as its process 1 and serves the runtime API.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/daemon"
)

// version is set by the linker.
var version = "dev"

const usage = `sandboxd runs inside a sandbox: it supervises the workload and serves its runtime API.

Usage:
  sandboxd run [flags] [-- command [argument...]]   serve, and supervise the command
  sandboxd install DIRECTORY                        copy this program to DIRECTORY/sandboxd
  sandboxd version                                  print the version

"sandboxd run --help" lists the flags. Without a subcommand the flags are those of run.
`

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	first := ""
	if len(args) > 0 {
		first = args[0]
	}
	switch {
	case first == "help" || first == "--help" || first == "-h":
		fmt.Fprint(stdout, usage)
		return 0
	case first == "version" || first == "--version":
		fmt.Fprintln(stdout, "sandboxd", version)
		return 0
	case first == "install":
		return report(stderr, install(args[1:]))
	case first == "run":
		return serve(args[1:], stdout, stderr)
	case first == "" || strings.HasPrefix(first, "-"):
		return serve(args, stdout, stderr)
	}
	return report(stderr, fmt.Errorf("cannot run %q: want run, install or version; see sandboxd --help", first))
}

func serve(args []string, stdout, stderr io.Writer) int {
	config, err := daemon.Parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return report(stderr, err)
	}
	if config.Version {
		fmt.Fprintln(stdout, "sandboxd", version)
		return 0
	}
	slog.SetDefault(slog.New(slog.NewJSONHandler(stderr, &slog.HandlerOptions{Level: config.LogLevel})))
	code, err := daemon.Run(config)
	if err != nil {
		return report(stderr, err)
	}
	return code
}

func report(stderr io.Writer, err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "sandboxd:", err)
	return 1
}

// install copies the running program into a directory. An existing file is replaced atomically.
func install(args []string) error {
	if len(args) != 1 || args[0] == "" {
		return errors.New("cannot install: want one directory")
	}
	source, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer source.Close()
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return fmt.Errorf("cannot install into %q: %w", args[0], err)
	}
	target, err := os.CreateTemp(args[0], ".sandboxd-*")
	if err != nil {
		return fmt.Errorf("cannot install into %q: %w", args[0], err)
	}
	defer os.Remove(target.Name())
	_, err = io.Copy(target, source)
	err = errors.Join(err, target.Chmod(0o755), target.Close())
	if err == nil {
		err = os.Rename(target.Name(), filepath.Join(args[0], "sandboxd"))
	}
	if err != nil {
		return fmt.Errorf("cannot install into %q: %w", args[0], err)
	}
	return nil
}
