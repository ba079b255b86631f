package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
)

// gatewayStrategy uses the first address of a Gateway.
type gatewayStrategy struct {
	client  *Client
	options Options
}

// gatewayPollTime is the pause between looks for a Gateway that does not exist yet.
const gatewayPollTime = 500 * time.Millisecond

func (s *gatewayStrategy) Connect(ctx context.Context) (_ string, err error) {
	o := s.options
	doing := fmt.Sprintf("Cannot use gateway %q", o.GatewayName)
	ctx, end := s.client.tracing.start(ctx, "wait_for_gateway",
		attribute.String("sandbox.gateway.name", o.GatewayName), attribute.String("sandbox.gateway.namespace", o.GatewayNamespace))
	defer func() { end(err) }()
	ctx, cancel := limit(ctx, o.GatewayReadyTimeout, doing)
	defer cancel()
	found, err := s.client.api.get(ctx, gateways, o.GatewayNamespace, o.GatewayName)
	for IsReason(err, NotFound) {
		select {
		case <-ctx.Done():
			return "", ended(ctx, err)
		case <-time.After(gatewayPollTime):
		}
		found, err = s.client.api.get(ctx, gateways, o.GatewayNamespace, o.GatewayName)
	}
	if err != nil {
		return "", err
	}
	found, err = s.client.wait(ctx, gateways, found, doing, func(o *object) verdict {
		if addressOf(o) != "" {
			return verdict{done: true}
		}
		return verdict{waiting: "it has no usable address"}
	})
	if IsReason(err, NotFound) {
		return "", errors.Join(ErrGatewayDeleted, err)
	}
	if err != nil {
		return "", err
	}
	return o.GatewayScheme + "://" + addressOf(found), nil
}

func (*gatewayStrategy) Close() error { return nil }

var hostName = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?)*$`)

// addressOf returns the first address of a Gateway as the host of a URL, or "". Whoever may write the status of the Gateway decides where
// requests go, but not which scheme, port, path or credential they have.
func addressOf(gateway *object) string {
	for _, each := range gateway.Status.Addresses {
		if address, err := netip.ParseAddr(each.Value); err == nil && address.Zone() == "" {
			if address.Is6() {
				return "[" + address.String() + "]"
			}
			return address.String()
		}
		isName := len(each.Value) <= 253 && hostName.MatchString(each.Value) && strings.ContainsAny(each.Value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
		if isName && net.ParseIP(each.Value) == nil {
			return each.Value
		}
	}
	return ""
}
