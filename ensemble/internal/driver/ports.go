package driver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"

	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/ensemble/internal/host"
)

// FreePorts finds n different free TCP ports on the Loopback address. It takes them from below the range that the
// kernel uses for outgoing connections: otherwise one of a run's thousands of sessions could occupy the port of a
// server that is to be restarted. Another process can take a port until the server has bound it: see WithFreePorts.
func FreePorts(n int) ([]int, error) {
	low, high := 10000, host.OutgoingPorts()
	if high-low < 2000 {
		low, high = 10000, 60000
	}
	ports := make([]int, 0, n)
	for range 200 * n {
		if len(ports) == n {
			return ports, nil
		}
		listener, err := net.Listen("tcp", Loopback(low+rand.IntN(high-low)))
		if err != nil {
			continue
		}
		defer listener.Close() // held until all are found, so that they differ
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	if len(ports) == n {
		return ports, nil
	}
	return nil, fmt.Errorf("%w: cannot find %d free ports between %d and %d", ensemble.ErrPortTaken, n, low, high)
}

// PortFree reports whether a server could bind the port now.
func PortFree(port int) error {
	listener, err := net.Listen("tcp", Loopback(port))
	if err != nil {
		return fmt.Errorf("%w: %d (%v); stop what listens there or ask for another port", ensemble.ErrPortTaken, port, err)
	}
	return listener.Close()
}

// Loopback returns an address on this machine that other machines cannot reach.
func Loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// WithFreePorts calls start, and repeats it if another process has meanwhile taken a port that was free, unless the ports were asked for.
func WithFreePorts(ctx context.Context, asked []int, start func() error) error {
	const tries = 3
	for try := 1; ; try++ {
		err := start()
		if !errors.Is(err, ensemble.ErrPortTaken) || len(asked) > 0 || try == tries || ctx.Err() != nil {
			return err
		}
	}
}
