package command

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/calibrate"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/fleet"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
)

// load is one of the runs that a search or a comparison is made of.
type load struct {
	profile  profiles.Profile
	path     string // of its directory
	root     string // "": of its own
	ensemble ensemble.Ensemble
	side     int           // of a comparison, whose ensemble it is
	blocks   *bench.Blocks // of a search
	said     string        // of it, for the displays of other shares
	look     func(bench.Update)

	share       fleet.Share
	meeting     *fleet.Meeting // nil: this process carries all of it out
	allowShared bool
}

// record carries a load out and leaves its directory. There is no document where the run could not begin and left nothing.
func (a *app) record(ctx context.Context, s *signals, l load) (*results.Run, error) {
	resolved, err := profiles.Marshal(l.profile)
	if err != nil {
		return nil, err
	}
	dir, err := results.Create(l.path, resolved)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	known, _ := calibrate.Read() // what is wrong with it has been told
	c := bench.Config{Setup: a.setup, Profile: l.profile, Ensemble: l.ensemble, Root: l.root, Name: runName(l.profile.Name, time.Now()), Version: versionText(), Out: dir,
		Progress: l.look, Stop: s.stop, Calibration: known, Blocks: l.blocks}
	if l.blocks == nil {
		c.Command = []string{program.Name(), "run", filepath.Join(l.path, results.ProfileFile)}
	}
	if l.meeting != nil {
		c.Share, c.Meeting, c.AllowShared, c.Root, c.Name, c.MostHistory = l.share, l.meeting, l.allowShared, l.meeting.Plan().Root, l.meeting.Plan().Run, mostCarried
	}
	doc, err := bench.Run(ctx, c)
	if doc == nil {
		return nil, errors.Join(err, dir.Discard())
	}
	return doc, errors.Join(err, dir.Close())
}
