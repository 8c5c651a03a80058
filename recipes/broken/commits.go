package broken

import (
	"context"

	"github.com/zkbench/zkbench/recipes"
	commits "github.com/zkbench/zkbench/recipes/commit"
	"github.com/zkbench/zkbench/zk"
)

// site is one site's part in the correct two-phase commit, of which a defect replaces one step.
type site struct {
	recipes.Commit
	transaction int32 // its number in its path
	number      int   // of the site, from 1
	voted       bool  // with this handle
	siteSteps
}

type siteSteps struct {
	// vote replaces the caller's vote.
	vote func(s *site, commit bool) bool
	// decision replaces the decision that is returned to the caller.
	decision func(s *site, commit bool) bool
	// finish ends the site's part.
	finish func(ctx context.Context, s *site) error
}

func rightSite() siteSteps {
	return siteSteps{
		vote:     func(_ *site, commit bool) bool { return commit },
		decision: func(_ *site, commit bool) bool { return commit },
		finish:   func(ctx context.Context, s *site) error { return s.Commit.Finish(ctx) },
	}
}

// Vote calls the commit's Vote, with the caller's vote or its replacement.
func (s *site) Vote(ctx context.Context, commit bool) error {
	s.voted = true
	return s.Commit.Vote(ctx, s.vote(s, commit))
}

// Decide calls the commit's Decide, and returns its decision or the replacement.
func (s *site) Decide(ctx context.Context) (bool, error) {
	commit, err := s.Commit.Decide(ctx)
	return s.decision(s, commit), err
}

// Finish calls the commit's Finish, or its replacement.
func (s *site) Finish(ctx context.Context) error { return s.finish(ctx, s) }

// siting makes an entry from the commit of the catalogue with one step replaced.
func siting(caught, name, doc string, fault func(*siteSteps)) Defect[recipes.Commit] {
	d := defective[recipes.Commit](caught, name, doc)
	d.Wakes = wakesNobody
	d.New = func(s zk.Session, path string, o recipes.Options) recipes.Commit {
		broken := &site{Commit: commits.Variants()[0].New(s, path, o), transaction: number(path), number: o.Site, siteSteps: rightSite()}
		fault(&broken.siteSteps)
		return broken
	}
	return d
}

// Commits are the two-phase commits with a defect.
var Commits = []Defect[recipes.Commit]{
	siting(agreement, "own-way", "has one site abort one transaction in twenty that the others commit", func(s *siteSteps) {
		s.decision = func(s *site, commit bool) bool { return commit && !(s.number == 1 && s.transaction%20 == 7) }
	}),
	siting(abortValidity, "overrules", "casts a vote to commit for a site that votes to abort", func(s *siteSteps) {
		s.vote = func(*site, bool) bool { return true }
	}),
	siting(decisionStands, "forgets", "tells a site that asks again that the transaction was aborted", func(s *siteSteps) {
		s.decision = func(s *site, commit bool) bool { return commit && s.voted }
	}),
	siting(commitProgress, "timid", "has one site vote to abort one transaction in twenty", func(s *siteSteps) {
		s.vote = func(s *site, commit bool) bool { return commit && !(s.number == 1 && s.transaction%20 == 7) }
	}),
	siting(nothingLeft, "stays", "never says that it has carried the decision out", func(s *siteSteps) {
		s.finish = func(context.Context, *site) error { return nil }
	}),
}
