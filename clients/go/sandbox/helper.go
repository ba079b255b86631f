package sandbox

import (
	"errors"
	"os"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"
)

// K8sHelper is a connection to an API server that several clients can share. Typed clients for other kinds are made with client-go from
// its RestConfig; this package does not need them.
type K8sHelper struct {
	RestConfig *rest.Config
	Log        logr.Logger

	api *apiServer
}

// NewK8sHelper returns a helper for this API server. It sends nothing yet.
func NewK8sHelper(restConfig *rest.Config, log logr.Logger) (*K8sHelper, error) {
	if restConfig == nil {
		return nil, failf(InvalidArgument, "Cannot make a helper without a REST config")
	}
	config := rest.CopyConfig(restConfig)
	api, err := newAPIServer(config, nil)
	if err != nil {
		return nil, failf(Unreachable, "Cannot use the REST config: %v", err)
	}
	return &K8sHelper{RestConfig: config, Log: log, api: api}, nil
}

// referenceConfig finds the API server in the order of the reference: given, in the Pod, in the kubeconfig. The last place is a box
// on this machine.
func referenceConfig(options Options) (*rest.Config, error) {
	// The token is for the router here.
	options.Token = ""
	if options.K8sHelper == nil && options.RestConfig == nil && options.Kubeconfig == "" && options.Context == "" {
		if options.DataDir != "" {
			config, _, err := loadConfig(options, findBox(options.DataDir))
			return config, err
		}
		if config, err := rest.InClusterConfig(); err == nil || !errors.Is(err, rest.ErrNotInCluster) {
			return config, err
		}
	}
	config, _, err := loadConfig(options, box{})
	if err == nil {
		return config, nil
	}
	if found := findBox(""); found.kubeconfig != "" && options.Kubeconfig == "" && options.Context == "" {
		config, _, err = loadConfig(options, found)
	}
	return config, err
}

func loggerOf(options Options) logr.Logger {
	switch {
	case options.Logger.GetSink() != nil:
		return options.Logger
	case options.K8sHelper != nil && options.K8sHelper.Log.GetSink() != nil:
		return options.K8sHelper.Log
	case options.Quiet:
		return logr.Discard()
	}
	return funcr.New(func(prefix, arguments string) {
		_, _ = os.Stderr.WriteString(firstOf(prefix, "sandbox") + ": " + arguments + "\n")
	}, funcr.Options{})
}
