package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/access"
	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/bench/root"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/zk"
)

// The environment variables for --share and --meet, because container engines fill in variables but not arguments.
const (
	shareVariable = "ZKBENCH_SHARE"
	meetVariable  = "ZKBENCH_MEET"
)

// fleetFlags are the flags of a run that several processes carry out together.
type fleetFlags struct {
	share, meet, onLoss string
	ship                string // URL that the result is sent to; "" to keep it here
	meetTimeout         time.Duration
	allowShared         bool

	part        fleet.Share
	coordinator []string
	path        string
}

func (f *fleetFlags) add(set *pflag.FlagSet) {
	f.addMeeting(set)
	set.StringVar(&f.ship, "ship", os.Getenv(shipVariable), "`URL` to which the result directory of a share is sent at the end, as a tar in one PUT; the directory's name is appended if it ends with / (default $"+shipVariable+")")
}

// addMeeting adds the flags of every command whose loads can be shared.
func (f *fleetFlags) addMeeting(set *pflag.FlagSet) {
	set.StringVar(&f.share, "share", os.Getenv(shareVariable), "carry out share `I/N` of the sessions, such as 2/8, or index:1/8 counted from 0 (default $"+shareVariable+")")
	set.StringVar(&f.meet, "meet", os.Getenv(meetVariable), "`zk://host:port/path` on a separate ensemble, where the shares of a run wait for each other (default $"+meetVariable+")")
	set.DurationVar(&f.meetTimeout, "meet-timeout", 5*time.Minute, "how long to wait for all shares to join")
	set.StringVar(&f.onLoss, "on-loss", "stop", "when a share is lost: stop ends the cell at once, finish completes it; the run ends after it")
	set.BoolVar(&f.allowShared, "allow-shared", false, "let the shares meet on the servers under test")
}

// check validates the flags and parses their values.
func (f *fleetFlags) check(set *pflag.FlagSet, servers string) (err error) {
	switch {
	case f.share == "" && f.meet == "":
		if !set.Changed("ship") {
			f.ship = ""
		}
		for _, name := range []string{"meet-timeout", "on-loss", "allow-shared", "ship"} {
			if set.Changed(name) {
				return usagef("--%s: only valid with --share and --meet", name)
			}
		}
		return nil
	case f.share == "":
		return usagef("--meet without --share (add the share of this process, such as --share 1/2)")
	case f.meet == "":
		return usagef("--share without --meet (add where the shares meet, such as --meet zk://host:2181/bench-1, on an ensemble that is not under test)")
	case servers == "":
		return usagef("--share without --servers (add the addresses of the servers that all shares load)")
	case f.onLoss != "stop" && f.onLoss != "finish":
		return usagef("--on-loss %q: must be stop or finish", f.onLoss)
	case f.meetTimeout <= 0:
		return usagef("--meet-timeout %v: must be more than 0", f.meetTimeout)
	}
	if f.part, err = fleet.ParseShare(f.share); err != nil {
		return usagef("--share: %w", err)
	}
	if f.ship != "" {
		if _, err := shipTarget(f.ship, "."); err != nil {
			return usageError{err}
		}
	}
	rest, isZK := strings.CutPrefix(f.meet, "zk://")
	hosts, path, _ := strings.Cut(rest, "/")
	if path = "/" + strings.TrimSuffix(path, "/"); !isZK || path == "/" || zk.CheckPath(path) != nil {
		return usagef("--meet %q: must be zk://host:port/path, with the path of a znode that only this run uses", f.meet)
	}
	t, err := ensemble.ParseTarget(hosts)
	if err != nil || len(t.Addresses) == 0 {
		return usagef("--meet %q: must be zk://host:port/path: %w", f.meet, cmp.Or(err, errors.New("no address")))
	}
	f.coordinator, f.path = t.Addresses, path
	return nil
}

// on reports whether the run has shares.
func (f *fleetFlags) on() bool { return f.meet != "" }

// out returns the default directory of the result.
func (f *fleetFlags) out(name string) string {
	if !f.on() {
		return filepath.Join("results", name)
	}
	return filepath.Join("results", fmt.Sprintf("share-%d-of-%d-%s", f.part.Number(), max(f.part.Count, 1), name))
}

// coordinatorTimeout is the session timeout at the coordinator: how long the loss of a share can stay unnoticed.
const coordinatorTimeout = 10 * time.Second

// meetAs joins the meeting of a run and sets c to the run that all shares have agreed on. The caller closes the meeting. The meeting is nil if
// the run has no shares.
func (a *app) meetAs(ctx context.Context, f fleetFlags, p profiles.Profile, quiet bool, c *bench.Config) (*fleet.Meeting, error) {
	if !f.on() {
		return nil, nil
	}
	resolved, err := profiles.Marshal(p)
	if err != nil {
		return nil, err
	}
	cfg, err := a.meetingOf(ctx, f, p)
	if err != nil {
		return nil, err
	}
	cfg.Plan = fleet.Plan{Shares: max(f.part.Count, 1), Version: c.Version, Seed: p.Seed, Servers: slices.Clone(c.Ensemble.Addresses()), Profile: string(resolved),
		Root: cmp.Or(c.Root, root.DefaultBase+"/"+c.Name), Run: c.Name, Nonce: rand.Text()}
	cfg.RootChosen, cfg.Tell = c.Root != "", func(message string) { a.tell(quiet, "%s", message) }
	m, err := fleet.Join(ctx, cfg)
	if err != nil {
		return nil, err
	}
	c.Share, c.Meeting, c.AllowShared, c.Root, c.Name = f.part, m, f.allowShared, m.Plan().Root, m.Plan().Run
	return m, nil
}

// meetingOf returns the configuration with which this share joins the meeting of the flags. The caller fills in the plan.
func (a *app) meetingOf(ctx context.Context, f fleetFlags, p profiles.Profile) (fleet.Config, error) {
	as, err := a.meetingAccess(ctx, f, p)
	return fleet.Config{Path: f.path, Share: f.part, MeetTimeout: f.meetTimeout, Finish: f.onLoss == "finish",
		Dial: func(ctx context.Context) (zk.Session, error) {
			ctx, cancel := context.WithTimeout(ctx, 2*coordinatorTimeout)
			defer cancel()
			return a.setup.OpenAs(ctx, "native", f.coordinator, coordinatorTimeout, as)
		}}, err
}

// meetingAccess returns the access of the shares to the coordinator. It is plain text, because credentials must not be sent to an ensemble that they were not
// given for. On the servers under test it is the access of the run.
func (a *app) meetingAccess(ctx context.Context, f fleetFlags, p profiles.Profile) (*access.Access, error) {
	if f.allowShared {
		as, err := a.setup.LoadAccess(p, access.SettingsOf(p))
		if err != nil {
			return nil, usageError{err}
		}
		return as, nil
	}
	for _, address := range f.coordinator {
		if access.SpeaksTLS(ctx, address) {
			return nil, fmt.Errorf("meet at %s: the coordinator %s speaks TLS, but the shares meet in plain text: give its plain port or another coordinator; --allow-shared lets them meet on the servers under test with the run's own access",
				f.path, address)
		}
	}
	return nil, nil
}
