package rpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	processv1 "github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1"
	"github.com/agent-sandbox/agent-sandbox/sandboxd/internal/process"
)

const rehearsalTimeout = 10 * time.Second

// Rehearse runs a command that does nothing as a request would. The first command of a client then finds the shell, its libraries and
// the code of this daemon in memory. Under gVisor a first command takes two to three times as long as later ones. It is neither
// activity nor listed. An image without a shell has nothing to rehearse.
func (s *Service) Rehearse(ctx context.Context) {
	request := &processv1.ExecuteRequest{}
	if err := protojson.Unmarshal([]byte(`{"config": {"shell": ":"}}`), request); err != nil {
		return
	}
	spec, err := specOf(request.Config, process.OriginRehearsal)
	if err != nil {
		return
	}
	spec.Timeout = rehearsalTimeout
	if response, err := s.run(ctx, spec, request); err == nil {
		_, _ = protojson.Marshal(response)
	}
}
