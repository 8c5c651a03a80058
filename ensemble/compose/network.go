package compose

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/internal/driver"
)

// The ports of a server in a container, by their users.
const (
	clientsPort = "2181"
	peersPorts  = "{ 2888, 3888 }"
)

// Partitions returns nil if the packets of a server can be dropped: nft runs in the server's container, or in another container that shares its
// network.
func (c *Compose) Partitions(ctx context.Context, _ ensemble.Side) error {
	return c.try(ctx, "nft list tables", "packets cannot be dropped")
}

// Degrades returns nil if the kernel used by Docker can delay and lose packets.
func (c *Compose) Degrades(ctx context.Context) error {
	const script = "tc qdisc replace dev lo root netem delay 0ms && tc qdisc del dev lo root"
	return c.try(ctx, script, "packets cannot be delayed or lost; it takes the module sch_netem of Docker's kernel (sudo modprobe sch_netem)")
}

func (c *Compose) try(ctx context.Context, script, what string) error {
	err := c.Change(ctx, 1, func(s *container, _ driver.State) error { return s.inside(ctx, script) })
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Disconnect drops what a server sends to a side and what comes from there. Its connections stay open, but nothing gets through.
func (c *Compose) Disconnect(ctx context.Context, number int, from ensemble.Side) error {
	return c.wire(ctx, number, (*container).filter, func(s *container) {
		if !slices.Contains(s.cut, from) {
			s.cut = append(s.cut, from)
		}
	})
}

// Reconnect undoes every Disconnect of the server; it does nothing for a connected one.
func (c *Compose) Reconnect(ctx context.Context, number int) error {
	return c.wire(ctx, number, (*container).filter, func(s *container) { s.cut = nil })
}

// SetLatency delays every packet that a server sends; 0 ends the delay.
func (c *Compose) SetLatency(ctx context.Context, number int, delay time.Duration) error {
	return c.wire(ctx, number, (*container).shape, func(s *container) { s.delay = delay })
}

// SetLoss drops percent (0 to 100) of the packets that a server sends; 0 ends the loss.
func (c *Compose) SetLoss(ctx context.Context, number int, percent float64) error {
	return c.wire(ctx, number, (*container).shape, func(s *container) { s.loss = percent })
}

// wire changes the network of a server. If the server is down, the change takes effect when it is restarted.
func (c *Compose) wire(ctx context.Context, number int, apply func(*container, context.Context) error, change func(*container)) error {
	return c.Change(ctx, number, func(s *container, was driver.State) error {
		change(s)
		if !was.Up {
			return nil
		}
		return apply(s, ctx)
	})
}

// filter makes the kernel drop the traffic that the server is cut off from: one nftables table, replaced as a whole.
func (s *container) filter(ctx context.Context) error {
	var in, out []string
	for _, side := range s.cut {
		switch side {
		case ensemble.Everybody:
			in, out = append(in, "drop"), append(out, "drop")
		case ensemble.Peers: // a peer is both server and client
			rules := []string{"tcp dport " + peersPorts + " drop", "tcp sport " + peersPorts + " drop"}
			in, out = append(in, rules...), append(out, rules...)
		case ensemble.Clients:
			in, out = append(in, "tcp dport "+clientsPort+" drop"), append(out, "tcp sport "+clientsPort+" drop")
		default:
			return fmt.Errorf("cut off from %q: want %s, %s or %s", side, ensemble.Everybody, ensemble.Peers, ensemble.Clients)
		}
	}
	rules := "table inet zkbench\ndelete table inet zkbench\n"
	if len(s.cut) > 0 {
		chain := func(name, hook, local string, rules []string) string {
			return fmt.Sprintf("chain %s { type filter hook %s priority 0; %s lo accept; %s; }\n", name, hook, local,
				strings.Join(rules, "; "))
		}
		rules += "table inet zkbench {\n" + chain("in", "input", "iifname", in) + chain("out", "output", "oifname", out) + "}\n"
	}
	return s.inside(ctx, "nft -f - <<'END'\n"+rules+"END\n")
}

// shape makes the kernel delay and lose outgoing packets of the container.
func (s *container) shape(ctx context.Context) error {
	if s.delay == 0 && s.loss == 0 {
		return s.inside(ctx, "! tc qdisc show dev eth0 | grep -q netem || tc qdisc del dev eth0 root")
	}
	return s.inside(ctx, fmt.Sprintf("tc qdisc replace dev eth0 root netem limit 100000 delay %dus loss %g%%", s.delay.Microseconds(), s.loss))
}

// inside runs a script in the network of a server, as root with NET_ADMIN: in its container if that has the tools, like the image built from
// Debian's packages, and otherwise in a container of that image that shares its network.
func (s *container) inside(ctx context.Context, script string) error {
	c := s.of
	if c.tools == nil {
		if err := c.findTools(ctx, s); err != nil {
			return err
		}
	}
	_, err := c.docker.run(ctx, c.tools(s, script)...)
	return err
}

func (c *Compose) findTools(ctx context.Context, s *container) error {
	own := func(s *container, script string) []string {
		return []string{"exec", "--user", "0", s.id, "sh", "-c", script}
	}
	const there = "command -v nft && command -v tc"
	if _, err := c.docker.run(ctx, own(s, there)...); err == nil {
		c.tools = own
		return nil
	}
	if _, err := c.docker.run(ctx, "image", "inspect", "--format", "{{.Id}}", BuiltImage); err != nil {
		return fmt.Errorf("the image %s has no tc and no nft, and %s, which could provide them, is not on this machine; make image, in zkbench's source, "+
			"builds it", c.cfg.Image, BuiltImage)
	}
	c.tools = func(s *container, script string) []string {
		return []string{"run", "--rm", "--cap-add", "NET_ADMIN", "--user", "0", "--network", "container:" + s.id, "--entrypoint", "sh", BuiltImage,
			"-c", script}
	}
	return nil
}
