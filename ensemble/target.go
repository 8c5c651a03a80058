package ensemble

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/compose"
)

// Target is where a run goes: servers to start here, as processes or in containers, or addresses of running servers.
type Target struct {
	Local     int      // servers to start as processes, or 0
	Compose   int      // servers to start in containers, observers included, or 0
	Observers int      // how many of Compose have no vote
	Addresses []string // host:port; none when servers are to be started
	Up        bool     // Addresses are those of the ensemble of 'zkbench up' on this machine, into which faults can be injected

	// ZooKeeper is the version of the servers, or, to start them as processes, their home directory or jar: see versions.Find. A version is compared with the one
	// that answers. "" is the one that is found first, and any that answers.
	ZooKeeper string
	Secure    string // for servers to start: tls, mtls, sasl or digest; "": not secured
	Dial      Dialer // opens connections to running servers; nil: plain ones
}

// String returns the text that ParseTarget parses.
func (t Target) String() string {
	switch {
	case t.Local > 0:
		return "local:" + strconv.Itoa(t.Local)
	case t.Compose > 0 && t.Observers > 0:
		return fmt.Sprintf("compose:%d+%d", t.Compose-t.Observers, t.Observers)
	case t.Compose > 0:
		return "compose:" + strconv.Itoa(t.Compose)
	}
	return strings.Join(t.Addresses, ",")
}

// ParseTarget parses "local" or "compose" (three servers), "local:N" with N of 1, 3, 5 or 7, "compose:N" with N of 1, 3 or 5, "compose:3+1" with
// an observer in addition to three voters, or a list "host:port,host:port". A host without a port means port 2181. All problems of a list are reported together.
func ParseTarget(text string) (t Target, err error) {
	text = strings.TrimSpace(text)
	driver, number, counted := strings.Cut(text, ":")
	servers := &t.Local
	switch driver {
	case "local":
	case "compose":
		servers = &t.Compose
	default:
		if t.Addresses, err = parseAddresses(text); err != nil {
			return Target{}, fmt.Errorf("target %q: %w", text, err)
		}
		return t, nil
	}
	if *servers = 3; counted {
		voters, observers, some := strings.Cut(number, "+")
		if *servers, err = strconv.Atoi(voters); err == nil && some {
			t.Observers, err = strconv.Atoi(observers)
		}
		if err != nil {
			return Target{}, fmt.Errorf("target %q: %q is not a number of servers", text, number)
		}
		*servers += t.Observers
	}
	if err = t.Check(); *servers == 0 {
		err = checkSize(driver, 0)
	}
	if err != nil {
		return Target{}, fmt.Errorf("target %q: %w", text, err)
	}
	return t, nil
}

// Check returns an error for numbers of servers that cannot be started.
func (t Target) Check() error {
	switch {
	case t.Observers != 0 && (t.Compose != 4 || t.Observers != 1):
		return errors.New("observers: only compose:3+1 is supported (three voters and one observer)")
	case t.Observers != 0:
		return nil
	case t.Local != 0:
		return checkSize("local", t.Local)
	case t.Compose != 0:
		return checkSize("compose", t.Compose)
	}
	return nil
}

// checkSize rejects even numbers, which add a server that can fail but tolerate no more failures, and for containers those for which package
// compose has no file.
func checkSize(driver string, n int) error {
	switch {
	case driver == "compose" && !slices.Contains(compose.Sizes, n):
		return fmt.Errorf("%d servers: an ensemble in containers has 1, 3 or 5", n)
	case driver == "local" && !slices.Contains([]int{1, 3, 5, 7}, n):
		return fmt.Errorf("%d servers: a local ensemble has 1, 3, 5 or 7", n)
	}
	return nil
}

func parseAddresses(text string) ([]string, error) {
	var addresses []string
	var problems []error
	seen := map[string]bool{}
	for field := range strings.SplitSeq(text, ",") {
		address, err := parseAddress(strings.TrimSpace(field))
		switch {
		case err != nil:
			problems = append(problems, err)
		case seen[address]:
			problems = append(problems, fmt.Errorf("duplicate address %s", address))
		default:
			seen[address] = true
			addresses = append(addresses, address)
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return addresses, nil
}

func parseAddress(text string) (string, error) {
	if text == "" {
		return "", errors.New("empty address")
	}
	if strings.Contains(text, "/") {
		return "", fmt.Errorf("%q: must be host:port, without a path", text)
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = strings.Trim(text, "[]"), "2181"
		if strings.Count(host, ":") == 1 || (strings.Contains(host, ":") && net.ParseIP(host) == nil) {
			return "", fmt.Errorf("%q: %w", text, err)
		}
	}
	if number, err := strconv.Atoi(port); err != nil || number < 1 || number > 65535 {
		return "", fmt.Errorf("%q: port %q must be from 1 to 65535", text, port)
	}
	if host == "" {
		return "", fmt.Errorf("%q: no host (expected host:port)", text)
	}
	return net.JoinHostPort(host, port), nil
}
