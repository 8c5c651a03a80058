package ensemble

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Target is where a run goes: either servers to start here, or addresses of servers that run already.
type Target struct {
	Local     int      // servers to start; 0 when Addresses is set
	Addresses []string // host:port
}

// String is the text that ParseTarget reads.
func (t Target) String() string {
	if t.Local > 0 {
		return "local:" + strconv.Itoa(t.Local)
	}
	return strings.Join(t.Addresses, ",")
}

// ParseTarget reads "local" (three servers), "local:N" with N of 1, 3, 5 or 7, or a list "host:port,host:port". A host
// without a port means port 2181. All faults of a list are reported together.
func ParseTarget(text string) (Target, error) {
	text = strings.TrimSpace(text)
	if text == "local" {
		return Target{Local: 3}, nil
	}
	if number, ok := strings.CutPrefix(text, "local:"); ok {
		n, err := strconv.Atoi(number)
		if err != nil {
			return Target{}, fmt.Errorf("target %q: %q is not a number of servers", text, number)
		}
		if err := checkServers(n); err != nil {
			return Target{}, fmt.Errorf("target %q: %w", text, err)
		}
		return Target{Local: n}, nil
	}
	addresses, err := parseAddresses(text)
	if err != nil {
		return Target{}, fmt.Errorf("target %q: %w", text, err)
	}
	return Target{Addresses: addresses}, nil
}

// checkServers refuses even numbers: they have one more server to fail and survive no more failures.
func checkServers(n int) error {
	switch n {
	case 1, 3, 5, 7:
		return nil
	}
	return fmt.Errorf("%d servers: a local ensemble has 1, 3, 5 or 7", n)
}

func parseAddresses(text string) ([]string, error) {
	var addresses []string
	var faults []error
	seen := map[string]bool{}
	for field := range strings.SplitSeq(text, ",") {
		address, err := parseAddress(strings.TrimSpace(field))
		switch {
		case err != nil:
			faults = append(faults, err)
		case seen[address]:
			faults = append(faults, fmt.Errorf("%s is there twice", address))
		default:
			seen[address] = true
			addresses = append(addresses, address)
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return addresses, nil
}

func parseAddress(text string) (string, error) {
	if text == "" {
		return "", errors.New("an address is empty")
	}
	if strings.Contains(text, "/") {
		return "", fmt.Errorf("%q: an address is host:port, a path does not belong to it", text)
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = strings.Trim(text, "[]"), "2181"
		if strings.Count(host, ":") == 1 || (strings.Contains(host, ":") && net.ParseIP(host) == nil) {
			return "", fmt.Errorf("%q: %w", text, err)
		}
	}
	if number, err := strconv.Atoi(port); err != nil || number < 1 || number > 65535 {
		return "", fmt.Errorf("%q: port %q is not within 1 and 65535", text, port)
	}
	if host == "" {
		return "", fmt.Errorf("%q: the host is missing", text)
	}
	return net.JoinHostPort(host, port), nil
}
