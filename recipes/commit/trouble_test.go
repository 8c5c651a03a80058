package commit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/commit"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/internal/trouble"
)

func TestTroubleOfCommits(t *testing.T) {
	for _, v := range commit.Variants() {
		for _, alive := range []bool{false, true} {
			o := recipes.Options{Members: 1, Site: 1, Deadline: 20 * time.Minute, Alive: alive}
			propose := func(ctx context.Context, c recipes.Commit) error { return c.Propose(ctx, []byte("p")) }
			learn := func(ctx context.Context, c recipes.Commit) error { return bubble.Second(c.Learn(ctx)) }
			vote := func(ctx context.Context, c recipes.Commit) error { return c.Vote(ctx, true) }
			decide := func(ctx context.Context, c recipes.Commit) error {
				yes, err := c.Decide(ctx)
				if err == nil && !yes {
					err = errors.New("aborted")
				}
				return err
			}
			finish := func(ctx context.Context, c recipes.Commit) error { return c.Finish(ctx) }
			all := func(parts ...func(context.Context, recipes.Commit) error) func(context.Context, recipes.Commit) error {
				return func(ctx context.Context, c recipes.Commit) error {
					for _, p := range parts {
						if err := p(ctx, c); err != nil {
							return err
						}
					}
					return nil
				}
			}
			name := fmt.Sprint(v.Name, " ", alive)
			other := o
			other.Site = 0
			trouble.Withstand(t,
				trouble.Scene{Name: name + " propose", Keeps: true, Set: trouble.Dialled(v.New, o, nil, propose)},
				trouble.Scene{Name: name + " learn", Keeps: true, Set: trouble.After(v.New, other, propose, nil, trouble.Dialled(v.New, o, nil, learn))},
				trouble.Scene{Name: name + " wait for it", Keeps: true, Set: trouble.After(v.New, other, func(context.Context, recipes.Commit) error { return nil }, propose, trouble.Dialled(v.New, o, nil, learn))},
				trouble.Scene{Name: name + " vote", Keeps: true, Set: trouble.Dialled(v.New, o, propose, vote)},
				trouble.Scene{Name: name + " decide", Keeps: true, Set: trouble.Dialled(v.New, o, all(propose, vote), decide)},
				trouble.Scene{Name: name + " finish", Keeps: true, Set: trouble.Dialled(v.New, o, all(propose, vote, decide), finish)})
		}
	}
}
