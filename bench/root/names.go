package root

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/zk"
)

// PrefillName is the child of a root that holds the znodes of a prefill.
const PrefillName = "prefill"

// Names distinguish zkbench's znodes below a root from others, by their names and their parents' names. The zero Names contain only the names that every run
// uses.
type Names struct{ persistent, ephemeral *regexp.Regexp }

// NewNames returns the names that workloads and scenarios use, written as in recipes.Znodes, in addition to those of every run. It panics if one is not a
// regular expression.
func NewNames(persistent, ephemeral []string) Names {
	return Names{oneOf(slices.Concat(persistentOfAll, persistent)), oneOf(slices.Concat(ephemeralOfAll, ephemeral))}
}

// The names that every run uses, whatever its workload.
var (
	persistentOfAll = []string{
		`cell-#/storm-#`, `storm-#/(m#|z#|change)`,
		`(prefill|p#)/p#`, // what exists before the load
	}
	ephemeralOfAll = []string{`m#/held-#`} // of sessions lost in a storm
	bare           = NewNames(nil, nil)
)

// AllOurs reports whether the names, starting with a child of the root, form the path of a zkbench znode.
func (n Names) AllOurs(names []string) bool {
	for i, name := range names {
		if i == 0 && !isTop(name) && !isOfRoot(name) || i > 0 && !n.isOurs(names[i-1], name) {
			return false
		}
	}
	return true
}

// isOfRoot reports whether the name is that of a child that identifies a root.
func isOfRoot(name string) bool { return name == MarkerName || name == AliveName || name == claimName }

// isTop reports whether the name, of a child of a root, is that of the directory of a cell or a trial.
func isTop(name string) bool { return topNames.MatchString(name) }

var topNames = regexp.MustCompile(`^(cell-[0-9]+|prefill|trial-[0-9]+(-[0-9]+)?)$`)

// isOurs reports whether zkbench uses this name for a child of a znode called parent, below a cell or a trial.
func (n Names) isOurs(parent, name string) bool {
	return n.isPersistent(parent, name) || n.orBare().ephemeral.MatchString(parent+"/"+name)
}

// isPersistent reports whether such a child is never ephemeral, such as a directory or the item of a queue.
func (n Names) isPersistent(parent, name string) bool {
	return n.orBare().persistent.MatchString(parent + "/" + name)
}

func (n Names) orBare() Names {
	if n.persistent == nil {
		return bare
	}
	return n
}

// oneOf returns a pattern that matches 'parent/name' as a whole with any of the patterns. Each has one slash, because names contain none.
func oneOf(patterns []string) *regexp.Regexp { return regexp.MustCompile(whole(patterns...)) }

// whole returns a regular expression that matches any of the patterns, anchored at both ends.
func whole(patterns ...string) string {
	const guid = `([0-9a-f]{16}|[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})`
	const seq = `-?[0-9]{9,10}`
	all := strings.NewReplacer("#", `[0-9]+`, "SEQ", seq, "GUID", guid, "PROTECTED", `(_c_)?`+guid+`.*`+seq).Replace(strings.Join(patterns, "|"))
	return "^(" + all + ")$"
}

// CheckName reports why NewNames cannot accept a pattern: it is not a regular expression, or not of the form parent/name.
func CheckName(pattern string) error {
	if strings.Count(pattern, "/") != 1 {
		return fmt.Errorf("%q is not PARENT/NAME", pattern)
	}
	if _, err := regexp.Compile(whole(pattern)); err != nil {
		return fmt.Errorf("%q: %w", pattern, err)
	}
	return nil
}

// Only returns a session that lists only children with zkbench's names, to look for what a recipe has left: znodes that others have added are not the
// recipe's doing.
func (n Names) Only(s zk.Session) zk.Session { return &ours{s, n} }

type ours struct {
	zk.Session
	names Names
}

// Unwrap returns the underlying session, for optional features such as persistent watches.
func (o *ours) Unwrap() zk.Session { return o.Session }

func (o *ours) Children(ctx context.Context, path string) ([]string, zk.Stat, error) {
	names, st, err := o.Session.Children(ctx, path)
	return slices.DeleteFunc(names, func(name string) bool { return !o.names.isOurs(base(path), name) }), st, err
}
