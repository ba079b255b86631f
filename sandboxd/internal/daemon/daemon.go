package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
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
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/legacy"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/reaper"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/rest"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/rpc"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/token"
)

// processGrace is how long processes have between being asked to end and being killed.
const processGrace = 2 * time.Second

// fallbackRoot serves images whose root is read-only or belongs to somebody else.
const fallbackRoot = "/tmp/workspace"

type daemon struct {
	config     *Config
	processes  *process.Manager
	rest       *rest.Handler
	servers    []*server
	supervisor *supervisor
}

// Run serves until it is told to stop or the supervised command ends, and returns the exit code.
func Run(config *Config) (int, error) {
	// Nothing that runs as the same user may read this process's memory, where the token passes through.
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

// forwarded are the signals that the supervised command gets as if it were process 1 itself.
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
	env := config.environment()
	d.processes = process.NewManager(process.Options{Reaper: reap, Root: root, Env: env, User: config.User})
	d.rest = rest.New(rest.Options{
		Root: root, Processes: d.processes, Contexts: contexts.NewManager(d.processes), Activity: tracker,
		MetadataPrefix: config.MetadataPrefix,
	})
	if err := d.listen(gate{guard, config.Identity}, tracker, root); err != nil {
		return nil, err
	}
	if socket != nil {
		d.servers = append(d.servers, config.newServer(d.rest.Inside(), socket))
	}
	if len(config.Command) > 0 {
		d.supervisor = &supervisor{reaper: reap, command: config.Command, env: env, who: who, policy: config.Restart, stopping: make(chan struct{})}
	}
	go keepSmall(func() time.Duration {
		if tracker.Streams() > 0 {
			return 0
		}
		return time.Since(tracker.Last())
	})
	return d, nil
}

func (d *daemon) listen(gate gate, tracker *activity.Tracker, root *confine.Root) error {
	rpcServer, err := d.config.listen(d.config.GRPCPort, rpc.New(d.processes, tracker, d.config.ChunkBytes).Handler(gate.check))
	if err != nil {
		return err
	}
	restServer, err := d.config.listen(d.config.RESTPort, gate.wrap("/v1/health", d.rest, refuseREST))
	if err != nil {
		return err
	}
	d.servers = []*server{restServer, rpcServer}
	if d.config.LegacyPort != 0 {
		legacyServer, err := d.config.listen(d.config.LegacyPort, gate.wrap("/", legacy.New(d.processes, tracker, root.Path()), refuseLegacy))
		if err != nil {
			return err
		}
		d.servers = append(d.servers, legacyServer)
	}
	return nil
}

// openRoot makes the root directory. Only the usual one may be replaced: a sandbox whose image does not let it be made
// still starts.
func (c *Config) openRoot(who *process.Account) (*confine.Root, error) {
	_, missing := os.Stat(c.RootDir)
	err := os.MkdirAll(c.RootDir, 0o755)
	if err != nil && !c.rootGiven {
		slog.Warn("root directory cannot be made, using another", "wanted", c.RootDir, "used", fallbackRoot, "error", err.Error())
		c.RootDir = fallbackRoot
		_, missing = os.Stat(c.RootDir)
		err = os.MkdirAll(c.RootDir, 0o755)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot make the root directory: %w", err)
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

// environment is what processes get: ours, without the way to the token, with the way to us.
func (c *Config) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(pair string) bool {
		return strings.HasPrefix(pair, "SANDBOXD_TOKEN")
	})
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

// shutdown turns health red, ends the processes and the command, finishes what is being answered, and kills the rest.
func (d *daemon) shutdown(number *syscall.Signal, ended <-chan int) int {
	ctx, cancel := context.WithTimeout(context.Background(), d.config.ShutdownTimeout)
	defer cancel()
	d.rest.Stop()
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
		// Whatever is left was started by nobody we know of.
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
