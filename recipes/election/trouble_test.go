package election_test

import (
	"context"
	"errors"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/election"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/internal/trouble"
)

func TestTroubleOfElections(t *testing.T) {
	campaign := func(ctx context.Context, e recipes.Election) error { return bubble.Second(e.Campaign(ctx)) }
	resign := func(ctx context.Context, e recipes.Election) error { return e.Resign(ctx) }
	leader := func(ctx context.Context, e recipes.Election) error { return bubble.Second(e.Leader(ctx)) }
	follow := func(ctx context.Context, e recipes.Election) error {
		return bubble.Second(e.(recipes.Follower).Follow(ctx, 0))
	}
	for _, v := range election.Variants() {
		var o recipes.Options
		trouble.Withstand(t,
			trouble.Scene{Name: v.Name + " campaign", Set: trouble.Dialled(v.New, o, nil, campaign)},
			trouble.Scene{Name: v.Name + " behind", Set: trouble.After(v.New, o, campaign, resign, trouble.Dialled(v.New, o, nil, campaign))},
			trouble.Scene{Name: v.Name + " leader", Set: trouble.After(v.New, o, campaign, nil, trouble.Dialled(v.New, o, nil, leader))},
			trouble.Scene{Name: v.Name + " resign", Set: trouble.Dialled(v.New, o, campaign, resign)})
		if _, ok := v.New(nil, bubble.Dir, o).(recipes.Follower); ok {
			none := func(context.Context, recipes.Election) error { return nil }
			trouble.Withstand(t,
				trouble.Scene{Name: v.Name + " follow", Set: trouble.After(v.New, o, campaign, nil, trouble.Dialled(v.New, o, nil, follow))},
				trouble.Scene{Name: v.Name + " follow nobody", Set: trouble.After(v.New, o, none, campaign, trouble.Dialled(v.New, o, nil, follow))},
				trouble.Scene{Name: v.Name + " follow after", Set: trouble.After(v.New, o, func(ctx context.Context, e recipes.Election) error {
					return errors.Join(campaign(ctx, e), resign(ctx, e))
				}, campaign, trouble.Dialled(v.New, o, nil, follow))})
		}
	}
}
