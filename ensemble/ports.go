package ensemble

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// freePorts finds n free TCP ports on the loopback address, all different. It takes them from below the range from which the
// kernel takes the ports of outgoing connections: otherwise one of a run's thousands of sessions could sit on the port of a
// server that is to be restarted. Another process can take a port until the server has bound it; Start then tries again.
func freePorts(n int) ([]int, error) {
	low, high := 10000, outgoingPorts()
	if high-low < 2000 {
		low, high = 10000, 60000
	}
	ports := make([]int, 0, n)
	for range 200 * n {
		if len(ports) == n {
			return ports, nil
		}
		listener, err := net.Listen("tcp", loopback(low+rand.IntN(high-low)))
		if err != nil {
			continue
		}
		defer listener.Close() // held until all are found, so that they differ
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	if len(ports) == n {
		return ports, nil
	}
	return nil, fmt.Errorf("%w: cannot find %d free ports between %d and %d", ErrPortTaken, n, low, high)
}

// portFree says whether a server could bind the port now.
func portFree(port int) error {
	listener, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return fmt.Errorf("%w: %d (%v); stop what listens there or ask for another port", ErrPortTaken, port, err)
	}
	return listener.Close()
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
