package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/activity"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/confine"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/contexts"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/environment"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/gate"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/legacy"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/lifecycle"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/reaper"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/rest"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/rpc"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/token"
)

// processGrace is the time between SIGTERM and SIGKILL for processes.
const processGrace = 2 * time.Second

// fallbackRoot is used if the default root directory cannot be created.
const fallbackRoot = "/tmp/workspace"

type daemon struct {
	config     *Config
	processes  *process.Manager
	lifecycle  *lifecycle.Lifecycle
	rest       *rest.Handler
	rpc        *rpc.Service
	servers    []*server
	supervisor *supervisor
}

// Run serves until a signal or the end of the supervised command, and returns the exit code.
func Run(config *Config) (int, error) {
	// Prevents processes of the same user from reading this process's memory, which contains the token.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, forwarded...)
	d, err := open(config)
	if err != nil {
		return 1, err
	}
	go makeThreads()
	return d.run(signals), nil
}

// forwarded are the signals that are forwarded to the supervised command.
var forwarded = []os.Signal{
	syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
	syscall.SIGCONT,
}

func open(config *Config) (*daemon, error) {
	var guard *token.Guard
	if config.TokenFile != "" {
		var err error
		if guard, err = token.Open(config.TokenFile); err != nil {
			return nil, err
		}
	}
	known, err := environment.Open(config.EnvironmentFile, config.Identity)
	if err != nil {
		return nil, err
	}
	who, err := config.account()
	if err != nil {
		return nil, err
	}
	root, err := config.openRoot(who)
	if err != nil {
		return nil, err
	}
	reap := reaper.New(true)
	socket, err := config.openSocket()
	if err != nil {
		return nil, err
	}
	d := &daemon{config: config}
	tracker := activity.NewTracker()
	env := func() []string { return config.environment(known.Identity()) }
	access := accessCheck{guard, known, new(gate.Gate)}
	d.processes = process.NewManager(process.Options{Reaper: reap, Root: root, Env: env, User: config.User, Gate: access.gate})
	d.lifecycle = lifecycle.New(lifecycle.Options{
		Environment: known, Guard: guard, Processes: d.processes, Gate: access.gate, Log: os.Stderr,
		HooksDir: config.HooksDir, MachineIDFiles: filepath.SplitList(config.MachineIDFiles),
	})
	d.rest = rest.New(rest.Options{
		Root: root, Processes: d.processes, Contexts: contexts.NewManager(d.processes), Activity: tracker,
		Lifecycle: d.lifecycle, MetadataPrefix: config.MetadataPrefix,
	})
	if err := d.listen(access, tracker, root); err != nil {
		return nil, err
	}
	if socket != nil {
		d.servers = append(d.servers, config.newServer(d.rest.Inside(), socket))
	}
	if len(config.Command) > 0 {
		d.supervisor = &supervisor{reaper: reap, command: config.Command, env: env, who: who, policy: config.Restart, gate: access.gate, stopping: make(chan struct{})}
	}
	go keepSmall(func() time.Duration {
		if tracker.Streams() > 0 {
			return 0
		}
		return time.Since(tracker.Last())
	})
	return d, nil
}

func (d *daemon) listen(access accessCheck, tracker *activity.Tracker, root *confine.Root) error {
	d.rpc = rpc.New(d.processes, tracker, d.config.ChunkBytes)
	rpcServer, err := d.config.listen(d.config.GRPCPort, access.hold(d.rpc.Handler(access.check)))
	if err != nil {
		return err
	}
	restServer, err := d.config.listen(d.config.RESTPort, access.wrap("/v1/health", d.rest, refuseREST))
	if err != nil {
		return err
	}
	d.servers = []*server{restServer, rpcServer}
	if d.config.LegacyPort != 0 {
		legacyServer, err := d.config.listen(d.config.LegacyPort, access.wrap("/", legacy.New(d.processes, tracker, root.Path()), refuseLegacy))
		if err != nil {
			return err
		}
		d.servers = append(d.servers, legacyServer)
	}
	return nil
}

// openRoot creates the root directory. If the default one cannot be created in this image, fallbackRoot is used instead; a
// directory that was configured must work.
func (c *Config) openRoot(who *process.Account) (*confine.Root, error) {
	_, missing := os.Stat(c.RootDir)
	err := os.MkdirAll(c.RootDir, 0o755)
	if err != nil && !c.rootGiven {
		slog.Warn("cannot create the root directory, using another", "wanted", c.RootDir, "used", fallbackRoot, "error", err.Error())
		c.RootDir = fallbackRoot
		_, missing = os.Stat(c.RootDir)
		err = os.MkdirAll(c.RootDir, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot create the root directory: %w", err)
	}
	root, err := confine.Open(c.RootDir)
	if err != nil {
		return nil, fmt.Errorf("cannot open the root directory: %w", err)
	}
	if who == nil {
		return root, nil
	}
	owner := confine.Owner{UID: int(who.Credential.Uid), GID: int(who.Credential.Gid)}
	root.Own(owner)
	if missing != nil {
		err = os.Chown(root.Path(), owner.UID, owner.GID)
	}
	return root, err
}

// environment returns the environment of processes: the daemon's own without the location of the token, with the
// identity of the sandbox, which the daemon's own environment does not have in a fork, and with the addresses of the daemon.
func (c *Config) environment(identity token.Identity) []string {
	own := map[string]string{nameVariable: identity.Name, namespaceVariable: identity.Namespace, uidVariable: identity.UID}
	env := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		_, replaced := own[name]
		return replaced || strings.HasPrefix(pair, "SANDBOXD_TOKEN")
	})
	for name, value := range own {
		if value != "" {
			env = append(env, name+"="+value)
		}
	}
	local := func(port uint) string { return net.JoinHostPort("localhost", strconv.Itoa(int(port))) }
	env = append(env, "SANDBOXD_GRPC_ADDR="+local(c.GRPCPort), "SANDBOXD_REST_ADDR="+local(c.RESTPort))
	if c.Socket != "" {
		env = append(env, "SANDBOXD_SOCKET="+c.Socket)
	}
	return env
}

func (d *daemon) run(signals <-chan os.Signal) int {
	for _, server := range d.servers {
		go server.serve()
	}
	go d.rpc.Rehearse(context.Background())
	slog.Info("serving", "root", d.config.RootDir, "rest_port", d.config.RESTPort, "grpc_port", d.config.GRPCPort)
	ended := make(chan int, 1)
	if d.supervisor != nil {
		go func() { ended <- d.supervisor.run() }()
	}
	for {
		select {
		case code := <-ended:
			d.shutdown(nil, nil)
			return code
		case received := <-signals:
			number := received.(syscall.Signal)
			if number != syscall.SIGTERM && number != syscall.SIGINT {
				d.forward(number)
				continue
			}
			return d.shutdown(&number, ended)
		}
	}
}

func (d *daemon) forward(number syscall.Signal) {
	if d.supervisor != nil {
		d.supervisor.signal(number)
	}
}

// shutdown fails the health check, ends the processes and the command, lets requests finish, and kills what is left.
func (d *daemon) shutdown(number *syscall.Signal, ended <-chan int) int {
	ctx, cancel := context.WithTimeout(context.Background(), d.config.ShutdownTimeout)
	defer cancel()
	d.rest.Stop()
	// A stopped process cannot react to the end.
	d.lifecycle.Abandon()
	code := 0
	var parts sync.WaitGroup
	parts.Go(func() {
		d.processes.Shutdown(ctx, processGrace)
		var drains sync.WaitGroup
		for _, server := range d.servers {
			drains.Go(func() { server.stop(ctx) })
		}
		drains.Wait()
	})
	if d.supervisor != nil && number != nil {
		d.supervisor.stop()
		d.supervisor.signal(*number)
		parts.Go(func() { code = d.awaitCommand(ctx, ended) })
	}
	parts.Wait()
	if os.Getpid() == 1 {
		// Processes that belong to no known tree.
		_ = syscall.Kill(-1, syscall.SIGKILL)
	}
	return code
}

func (d *daemon) awaitCommand(ctx context.Context, ended <-chan int) int {
	select {
	case code := <-ended:
		return code
	case <-ctx.Done():
		d.supervisor.kill()
		return <-ended
	}
}
