package zk

import (
	"fmt"
	"slices"
	"strings"
)

// Power is something that only servers from some version of ZooKeeper on can do.
type Power uint8

// The powers, in the order of their versions.
const (
	PowerCreate2       Power = iota // a create that returns the Stat, alone and in a multi
	PowerRemoveWatches              // watches can be taken off a server
	PowerReconfig                   // servers can be added and removed at run time
	PowerAdminServer                // figures over HTTP
	PowerContainers                 // znodes that are removed some time after their last child
	PowerTLS                        // encrypted connections of clients
	PowerTTL                        // znodes that are removed when they have not changed for a time
	PowerQuorumTLS                  // encrypted connections between servers
	PowerAddWatch                   // persistent watches
	PowerMultiRead                  // several reads in one request
	PowerMetrics                    // latencies, sizes and counts by kind in mntr
	PowerForceSASL                  // sessions without a SASL identity are refused
	PowerWhoAmI                     // a session can ask for its identities
	PowerForceAuth                  // sessions without an identity of the given schemes are refused
	PowerEventZxids                 // events say which transaction they report
	PowerWords                      // four-letter words; every version has them, but they can be off
	powers
)

// known has the powers' names and versions (release notes of ZooKeeper, and its issues as named).
var known = [powers]struct {
	name, since string
}{
	PowerCreate2:       {"create2", "3.5.0"},                       // ZOOKEEPER-1297
	PowerRemoveWatches: {"removeWatches", "3.5.0"},                 // ZOOKEEPER-442
	PowerReconfig:      {"reconfig", "3.5.0"},                      // ZOOKEEPER-107
	PowerAdminServer:   {"the AdminServer", "3.5.0"},               // ZOOKEEPER-1346
	PowerContainers:    {"containers", "3.5.1"},                    // ZOOKEEPER-2163
	PowerTLS:           {"TLS", "3.5.1"},                           // ZOOKEEPER-2125
	PowerTTL:           {"TTL znodes", "3.5.3"},                    // ZOOKEEPER-2169
	PowerQuorumTLS:     {"TLS among servers", "3.5.5"},             // ZOOKEEPER-236
	PowerAddWatch:      {"persistent watches (addWatch)", "3.6.0"}, // ZOOKEEPER-1416
	PowerMultiRead:     {"multiRead", "3.6.0"},                     // ZOOKEEPER-3402
	PowerMetrics:       {"metrics by kind of request", "3.6.0"},    // ZOOKEEPER-3092
	PowerForceSASL:     {"sessionRequireClientSASLAuth", "3.6.0"},  // ZOOKEEPER-1634
	PowerWhoAmI:        {"whoAmI", "3.7.0"},                        // ZOOKEEPER-3969
	PowerForceAuth:     {"enforce.auth.enabled", "3.7.0"},          // ZOOKEEPER-3959
	PowerEventZxids:    {"zxids in events", "3.9.0"},               // ZOOKEEPER-4655
	PowerWords:         {"four-letter words", ""},
}

func (p Power) String() string { return known[p].name }

// Since returns the first version whose servers have the power, "" if all have it.
func (p Power) Since() string { return known[p].since }

// PowerOf returns the power with a name, such as create2 or TLS; for persistent watches it is that of the request, addWatch.
func PowerOf(name string) (one Power, found bool) {
	for i := range powers {
		if i.String() == name || strings.HasSuffix(i.String(), "("+name+")") {
			return i, true
		}
	}
	return 0, false
}

// Powers is what some servers can do. The zero value stands for servers of unknown version: it has all powers, so that nothing is refused on a guess.
type Powers struct {
	Version string // the oldest of the servers, such as 3.8.0; "" if it is unknown
	lacks   uint32 // one bit for each power, so that the zero value lacks none
}

// PowersOf returns the powers of servers of a version, or of the oldest of several; an empty one is unknown and left out.
func PowersOf(versions ...string) Powers {
	var p Powers
	for _, v := range versions {
		if v != "" && (p.Version == "" || before(v, p.Version)) {
			p.Version = v
		}
	}
	if p.Version == "" {
		return p
	}
	for i := range powers {
		if before(p.Version, i.Since()) {
			p = p.Without(i)
		}
	}
	return p
}

// Without returns the powers without some that a probe did not find.
func (p Powers) Without(missing ...Power) Powers {
	for _, m := range missing {
		p.lacks |= 1 << m
	}
	return p
}

// Before returns the powers of servers that lack one, and therefore those that came with its version or later.
func (p Powers) Before(missing Power) Powers {
	for i := range powers {
		if since := i.Since(); since != "" && !before(since, missing.Since()) {
			p = p.Without(i)
		}
	}
	return p
}

// Has reports whether the servers have a power.
func (p Powers) Has(one Power) bool { return p.lacks&(1<<one) == 0 }

// Also returns the powers of servers that have run, or will run, other versions too: what the oldest can. Empty versions are unknown and left out.
func (p Powers) Also(versions ...string) Powers {
	all := PowersOf(append([]string{p.Version}, versions...)...)
	all.lacks |= p.lacks
	return all
}

// CheckUpgrade returns why servers of one version cannot be started again, one after the other and with their data, as another version; nil if they can, or if
// a version is unknown. Servers before 3.5.0 cannot read what newer ones write: creates that return a Stat, containers and TTLs are other transactions in their logs.
func CheckUpgrade(from, to string) error {
	const since = "3.5.0"
	if from == "" || to == "" || before(from, since) || !before(to, since) {
		return nil
	}
	return fmt.Errorf("ZooKeeper %s cannot read the data of %s, which may have transactions that came with %s (there is no way back below %s)", to, from, since, since)
}

// Need is a power that something needs, and what works without it.
type Need struct {
	Power   Power
	Instead string // for a sentence: 'use ...'; "" for nothing but other servers
}

// Refuse returns why something cannot be done on the servers: an error with their version, what is missing, and the remedies; nil if nothing is missing.
func (p Powers) Refuse(what string, needs ...Need) error {
	i := slices.IndexFunc(needs, func(n Need) bool { return !p.Has(n.Power) })
	if i < 0 {
		return nil
	}
	missing := needs[i]
	remedies := []string{}
	if since := missing.Power.Since(); since != "" {
		remedies = append(remedies, "use servers of "+since+" or newer")
	} else {
		remedies = append(remedies, "turn them on")
	}
	if missing.Instead != "" {
		remedies = append(remedies, missing.Instead)
	}
	they := "the servers do"
	if p.Version != "" {
		they = "ZooKeeper " + p.Version + " does"
	}
	return fmt.Errorf("%s needs %v, which %s not have (%s)", what, missing.Power, they, strings.Join(remedies, ", or "))
}

// before reports whether a version is older than another: their numbers are compared from the left, and what follows a hyphen does not count.
func before(a, b string) bool {
	return slices.Compare(numbers(a), numbers(b)) < 0
}

func numbers(version string) (all []int) {
	version, _, _ = strings.Cut(version, "-")
	for part := range strings.SplitSeq(version, ".") {
		n := 0
		fmt.Sscan(part, &n)
		all = append(all, n)
	}
	return all
}
