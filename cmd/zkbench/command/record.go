package command

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/zkbench/zkbench/bench"
	"github.com/zkbench/zkbench/bench/fleet"
	"github.com/zkbench/zkbench/bench/load"
	"github.com/zkbench/zkbench/cmd/zkbench/internal/calibrate"
	"github.com/zkbench/zkbench/ensemble"
	"github.com/zkbench/zkbench/internal/program"
	"github.com/zkbench/zkbench/profiles"
	"github.com/zkbench/zkbench/results"
)

// recorded is one of the runs of a search or a comparison.
type recorded struct {
	profile  profiles.Profile
	path     string // of its directory
	root     string // "" to let the run choose one
	ensemble ensemble.Ensemble
	side     int          // of a comparison, whose ensemble it uses
	blocks   *load.Blocks // of a search
	said     string       // description for the displays of other shares
	look     func(load.Update)

	share       fleet.Share
	meeting     *fleet.Meeting // nil if this process carries out all of it
	allowShared bool
}

// record carries out a run and writes its directory. The document is nil if the run could not start and left nothing.
func (a *app) record(ctx context.Context, s *signals, l recorded) (*results.Run, error) {
	resolved, err := profiles.Marshal(l.profile)
	if err != nil {
		return nil, err
	}
	dir, err := results.Create(l.path, resolved)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	known, _ := calibrate.Read() // an error has been reported before
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
