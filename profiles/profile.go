package profiles

import (
	"fmt"
	"strings"
	"time"
)

// Profile describes one run. Lists are axes: the run has a cell for every combination, times Repetitions, in an order shuffled by the seed. The table in
// fields.go gives every field its key, range and default; fields of single workloads are in Values. A Profile is a value: copies may be used from several
// goroutines as long as nobody writes to the lists that they share.
type Profile struct {
	Name           string
	Description    string
	Workload       string        // a name in the catalogue
	Variants       []string      // axis: names from the recipes catalogue
	Sessions       []int         // axis: simulated clients, each with its own session
	Rate           []float64     // axis: offered operations per second over all sessions (open loop); empty: closed loop
	RatePerSession []float64     // axis: offered operations per second and session, instead of Rate; Points have a Rate
	Arrivals       string        // open loop: poisson or uniform; closed loop: empty
	Saturation     string        // open loop: refused or allowed; closed loop: empty
	Think          Distribution  // closed loop: pause of a session between two operations
	Deadline       time.Duration // of one operation; 0: none
	Warmup         time.Duration
	Duration       time.Duration // of the steady phase of each cell
	Overtime       time.Duration // of the load after the steady phase
	Drain          time.Duration // how long operations in flight at the end may take to finish
	Repetitions    int
	Seed           uint64
	Engine         string   // native or go-zookeeper
	Ensemble       []string // axis: local:N, compose:N, compose:3+1 or Given; --servers replaces the only one
	ZooKeeper      []string // axis, for an ensemble that the run starts: versions, home directories or jars; none: the first that is found
	Fsync          bool     // for a local ensemble
	SessionTimeout time.Duration
	Secure         []string          // axis, for an ensemble that the run starts: how it is secured, or NotSecured; none: not at all
	TLS            TLS               // zero: plain connections
	Auth           []Credential      // what every session presents
	ACL            string            // of every znode that the run creates: ACLWorld, ACLShared or ACLCreator; "": shared with Auth or a certificate, else world
	Chroot         string            // before every path on the servers; "": none
	Prefill        []int             // axis: znodes that exist before the load
	PrefillSize    int               // bytes of data of each
	PrefillWatches int               // watches on these, held by separate sessions
	PrefillDepth   int               // levels of the tree that they form
	Options        map[string]string // for the recipe: layout, watch, ...
	Faults         []PlannedFault    // faults that are injected into every cell, and when
	Gates          []string          // limits for what is measured, as written

	values    map[string]any // by key, for the workload's own fields; never changed once set
	catalogue Catalogue
	source    string             // the file, for messages
	places    map[string][]Place // where the values of each given key are; the key of an option is options.NAME
	written   map[string]string  // the aliases that were used, by key
}

// SaturationAllowed as the Saturation of a profile says that an offered load that is not sustained is a result, not a failure of the run.
const SaturationAllowed = "allowed"

// NotSecured on the axis Secure stands for plain connections without authentication.
const NotSecured = "none"

// SecureWay returns how the ensemble that is started for one of the Environments is secured; "" for not at all.
func (p Profile) SecureWay() string {
	if len(p.Secure) == 0 || p.Secure[0] == NotSecured {
		return ""
	}
	return p.Secure[0]
}

// ZooKeeperOf returns the version, home directory or jar of the servers of one of the Environments; "" for any.
func (p Profile) ZooKeeperOf() string {
	if len(p.ZooKeeper) == 0 {
		return ""
	}
	return p.ZooKeeper[0]
}

// VersionOf returns the version that a value of zookeeper names; "" if it is the path of a directory or a jar.
func VersionOf(zookeeper string) string {
	if strings.ContainsRune(zookeeper, '/') || strings.HasSuffix(zookeeper, ".jar") {
		return ""
	}
	return zookeeper
}

// workload returns the profile's workload; nil if the catalogue has none of that name.
func (p Profile) workload() *Workload { return p.catalogue.find(p.Workload) }

// At returns where the index-th value of key was given, as the start of an error message: file:line:column, or --set key. For an index outside the list it
// returns the place of the first value. For a key that was not given it says so. The key of one recipe option is options.NAME.
func (p Profile) At(key string, index int) string {
	places := p.places[key]
	switch {
	case index >= 0 && index < len(places):
		return places[index].String()
	case len(places) > 0:
		return places[0].String()
	case p.source != "":
		return fmt.Sprintf("%s: %s (by default)", p.source, key)
	}
	return key
}
