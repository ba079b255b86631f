// Package daemon assembles sandboxd: configuration, listeners, supervision and shutdown.
package daemon

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/token"
)

// Config is the configuration of the daemon.
type Config struct {
	Host                           string
	GRPCPort, RESTPort, LegacyPort uint
	RootDir                        string
	rootGiven                      bool
	MetadataPrefix                 string
	ShutdownTimeout, IdleTimeout   time.Duration
	ChunkBytes                     int
	TokenFile                      string
	Insecure                       bool
	Identity                       token.Identity
	EnvironmentFile, HooksDir      string
	MachineIDFiles                 string
	User, EnsureUser               string
	Socket                         string
	Restart                        string
	Command                        []string
	LogLevel                       slog.Level
	Version                        bool
}

const (
	usualRoot  = "/workspace"
	usualChunk = 4096
	maxChunk   = 1 << 20
)

// Variables with the identity of the sandbox.
const (
	nameVariable      = "SANDBOXD_SANDBOX_NAME"
	namespaceVariable = "SANDBOXD_SANDBOX_NAMESPACE"
	uidVariable       = "SANDBOXD_SANDBOX_UID"
)

// Restart policies of the supervised command.
const (
	RestartNever     = "never"
	RestartOnFailure = "on-failure"
	RestartAlways    = "always"
)

// Parse parses the flags. The arguments after them are the command to supervise.
func Parse(args []string, output io.Writer) (*Config, error) {
	c := &Config{LogLevel: slog.LevelWarn, Identity: token.Identity{
		Name: os.Getenv(nameVariable), Namespace: os.Getenv(namespaceVariable), UID: os.Getenv(uidVariable),
	}}
	flags := flag.NewFlagSet("sandboxd run", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.Usage = func() {
		fmt.Fprint(output, "Usage: sandboxd run [flags] [-- command [argument...]]\n\nServes the runtime API of a sandbox and supervises the command.\n\n")
		flags.PrintDefaults()
	}
	c.register(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	c.rootGiven = os.Getenv("SANDBOXD_ROOT_DIR") != ""
	flags.Visit(func(f *flag.Flag) { c.rootGiven = c.rootGiven || f.Name == "root-dir" })
	c.Command = flags.Args()
	return c, c.check()
}

func (c *Config) register(flags *flag.FlagSet) {
	flags.StringVar(&c.Host, "listen-host", "0.0.0.0", "interface of all listeners")
	flags.UintVar(&c.GRPCPort, "grpc-port", 9090, "port of gRPC, gRPC-Web and Connect")
	flags.UintVar(&c.RESTPort, "rest-port", 8080, "port of the REST API")
	flags.UintVar(&c.LegacyPort, "legacy-port", 8888, "port of the legacy API; 0 turns it off")
	root := cmp.Or(os.Getenv("SANDBOXD_ROOT_DIR"), usualRoot)
	flags.StringVar(&c.RootDir, "root-dir", root, "directory for files and processes; created if it does not exist ($SANDBOXD_ROOT_DIR)")
	flags.StringVar(&c.MetadataPrefix, "metadata-env-prefix", "SANDBOX_", "prefix of the variables in /v1/metadata")
	flags.DurationVar(&c.ShutdownTimeout, "shutdown-timeout", 10*time.Second, "how long a shutdown may take")
	flags.DurationVar(&c.IdleTimeout, "http-idle-timeout", time.Minute, "how long an idle connection is kept")
	flags.IntVar(&c.ChunkBytes, "stream-chunk-size", 0, "maximum size of an output event in bytes; 0 means 4096")
	flags.StringVar(&c.TokenFile, "token-file", os.Getenv("SANDBOXD_TOKEN_FILE"), "file with the token that requests must have ($SANDBOXD_TOKEN_FILE)")
	flags.BoolVar(&c.Insecure, "insecure-no-token", false, "serve everyone who can connect, without a token")
	flags.StringVar(&c.User, "user", os.Getenv("SANDBOXD_USER"), "default user of the command and of processes: name, uid or uid:gid ($SANDBOXD_USER)")
	flags.StringVar(&c.EnsureUser, "ensure-user", os.Getenv("SANDBOXD_ENSURE_USER"), "name of a user that is created if the image has none of that name; it becomes the default user ($SANDBOXD_ENSURE_USER)")
	flags.StringVar(&c.Socket, "socket", "", "unix socket for keep-awake leases; if empty, the first of /run/sandboxd.sock and /tmp/sandboxd.sock that can be created")
	flags.StringVar(&c.EnvironmentFile, "environment-file", "/run/agent-sandbox/environment", "file with the identity and the epoch of the sandbox")
	flags.StringVar(&c.HooksDir, "hooks-dir", "/etc/agent-sandbox/hooks", "directory with the hooks of suspensions and forks")
	flags.StringVar(&c.MachineIDFiles, "machine-id-files", "/etc/machine-id:/var/lib/dbus/machine-id", "files with the id of the machine, which a fork replaces; separated by colons")
	flags.StringVar(&c.Restart, "restart", RestartNever, "when the command is restarted: never, on-failure or always")
	flags.BoolVar(&c.Version, "version", false, "print the version and exit")
	flags.TextVar(&c.LogLevel, "log-level", slog.LevelWarn, "debug, info, warn or error")
	flags.TextVar(&c.LogLevel, "zap-log-level", slog.LevelWarn, "the same as log-level")
	for _, name := range []string{"zap-encoder", "zap-stacktrace-level", "zap-time-encoding"} {
		flags.String(name, "", "accepted for compatibility and ignored")
	}
	flags.Bool("zap-devel", false, "accepted for compatibility and ignored")
}

func (c *Config) check() error {
	if c.Version {
		return nil
	}
	ports := map[uint]string{}
	for name, port := range map[string]uint{"grpc-port": c.GRPCPort, "rest-port": c.RESTPort, "legacy-port": c.LegacyPort} {
		if name == "legacy-port" && port == 0 {
			continue
		}
		if port < 1 || port > 65535 {
			return fmt.Errorf("cannot use --%s=%d: want a port from 1 to 65535", name, port)
		}
		if other, taken := ports[port]; taken {
			return fmt.Errorf("cannot use port %d for both --%s and --%s", port, min(name, other), max(name, other))
		}
		ports[port] = name
	}
	switch {
	case strings.TrimSpace(c.RootDir) == "":
		return errors.New("cannot use an empty --root-dir")
	case c.EnsureUser != "" && !process.IsUserName(c.EnsureUser):
		return fmt.Errorf("cannot use --ensure-user=%q: want a name of lower-case letters, digits, _ and -", c.EnsureUser)
	case c.ShutdownTimeout <= 0 || c.IdleTimeout <= 0:
		return errors.New("cannot use a --shutdown-timeout or --http-idle-timeout that is not more than 0")
	case c.ChunkBytes < 0 || c.ChunkBytes > maxChunk:
		return fmt.Errorf("cannot use --stream-chunk-size=%d: want 0 to %d", c.ChunkBytes, maxChunk)
	case c.Restart != RestartNever && c.Restart != RestartOnFailure && c.Restart != RestartAlways:
		return fmt.Errorf("cannot use --restart=%q: want %s, %s or %s", c.Restart, RestartNever, RestartOnFailure, RestartAlways)
	case c.TokenFile == "" && !c.Insecure:
		return errors.New("cannot start without a token: set SANDBOXD_TOKEN_FILE, or use --insecure-no-token to serve everyone who can connect")
	}
	if c.ChunkBytes == 0 {
		c.ChunkBytes = usualChunk
	}
	return nil
}
