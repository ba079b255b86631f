package rpc

import (
	"math"
	"net/http"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"

	"github.com/agent-sandbox/agent-sandbox/sandboxd/gen/process/v1/processv1connect"
)

// maxMessageBytes is gRPC's usual bound on what a server reads at once.
const maxMessageBytes = 4 << 20

// Gate says with a status code who may not enter.
type Gate func(http.Header) (connect.Code, error)

// Handler serves gRPC, gRPC-Web and Connect, with server reflection, to the callers the gate lets in. The others are
// refused before their first message is read.
func (s *Service) Handler(gate Gate) http.Handler {
	bound := connect.WithHandlerOptions(
		connect.WithReadMaxBytes(maxMessageBytes),
		// Compressed output would let a reader that stands still hold megabytes of a process that writes the same
		// line for ever, and cost more time than it saves on the way to a router on the same machine.
		connect.WithCompressMinBytes(math.MaxInt),
	)
	mux := http.NewServeMux()
	mux.Handle(processv1connect.NewProcessServiceHandler(s, bound))
	reflector := grpcreflect.NewStaticReflector(processv1connect.ProcessServiceName)
	mux.Handle(grpcreflect.NewHandlerV1(reflector, bound))
	mux.Handle(grpcreflect.NewHandlerV1Alpha(reflector, bound))
	refusals := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, err := gate(r.Header)
		switch {
		case err == nil:
			mux.ServeHTTP(w, r)
		case refusals.IsSupported(r):
			_ = refusals.Write(w, r, connect.NewError(code, err))
		default:
			http.Error(w, err.Error(), http.StatusUnauthorized)
		}
	})
}
