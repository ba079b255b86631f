package rpc

import (
	"connectrpc.com/connect"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
)

const shell = "/bin/sh"

// specOf converts the configuration of Start and Execute.
func specOf(config *processv1.ProcessConfig, origin string) (process.Spec, error) {
	spec := process.Spec{
		Argv:   config.GetCommand(),
		Env:    config.GetEnvVars(),
		Cwd:    config.GetCwd(),
		User:   config.GetUser(),
		Origin: origin,
	}
	if script := config.GetShell(); script != "" {
		if len(spec.Argv) > 0 {
			return spec, failf(connect.CodeInvalidArgument, "Cannot start a process: both command and shell are given")
		}
		spec.Argv = []string{shell, "-c", script}
	}
	if timeout := config.GetTimeout(); timeout != nil {
		if err := timeout.CheckValid(); err != nil || timeout.AsDuration() <= 0 {
			return spec, failf(connect.CodeInvalidArgument, "Cannot start a process: the timeout must be more than 0")
		}
		spec.Timeout = timeout.AsDuration()
	}
	return spec, nil
}
