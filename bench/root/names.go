package root

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/zk"
)

// PrefillName is the child of a root that has the znodes of a prefill.
const PrefillName = "prefill"

// Names tell zkbench's znodes below a root from those of others, by their names and their parents'. The zero Names know only what every run
// makes.
type Names struct{ persistent, ephemeral *regexp.Regexp }

// NewNames returns the names that workloads and scenarios give, as recipes.Znodes writes them, beside those of every run. It panics at what is no
// regular expression.
func NewNames(persistent, ephemeral []string) Names {
	return Names{oneOf(slices.Concat(persistentOfAll, persistent)), oneOf(slices.Concat(ephemeralOfAll, ephemeral))}
}

// The names that a run gives whatever its workload is.
var (
	persistentOfAll = []string{
		`cell-#/storm-#`, `storm-#/(m#|z#|change)`,
		`(prefill|p#)/p#`, // what is there before the load
	}
	ephemeralOfAll = []string{`m#/held-#`} // of sessions that are lost in a storm
	bare           = NewNames(nil, nil)
)

// AllOurs reports whether the names, from a child of the root on, make a path of a znode of zkbench.
func (n Names) AllOurs(names []string) bool {
	for i, name := range names {
		if i == 0 && !isTop(name) && !isOfRoot(name) || i > 0 && !n.isOurs(names[i-1], name) {
			return false
		}
	}
	return true
}

// isOfRoot reports whether a child of a root makes it one.
func isOfRoot(name string) bool { return name == MarkerName || name == AliveName || name == claimName }

// isTop reports whether a child of a root is the directory of a cell or a trial.
func isTop(name string) bool { return topNames.MatchString(name) }

var topNames = regexp.MustCompile(`^(cell-[0-9]+|prefill|trial-[0-9]+(-[0-9]+)?)$`)

// isOurs reports whether zkbench gives this name to a child of a znode of that name, below a cell or a trial.
func (n Names) isOurs(parent, name string) bool {
	return n.isPersistent(parent, name) || n.orBare().ephemeral.MatchString(parent+"/"+name)
}

// isPersistent reports whether such a child is never ephemeral: the directories, and the items of queues.
func (n Names) isPersistent(parent, name string) bool {
	return n.orBare().persistent.MatchString(parent + "/" + name)
}

func (n Names) orBare() Names {
	if n.persistent == nil {
		return bare
	}
	return n
}

// oneOf is a pattern of the whole of 'parent/name', which is one of these. Each has one slash: no name has any.
func oneOf(patterns []string) *regexp.Regexp { return regexp.MustCompile(whole(patterns...)) }

// whole is a regular expression of what one of the patterns is, from its beginning to its end.
func whole(patterns ...string) string {
	const guid = `([0-9a-f]{16}|[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})`
	const seq = `-?[0-9]{9,10}`
	all := strings.NewReplacer("#", `[0-9]+`, "SEQ", seq, "GUID", guid, "PROTECTED", `(_c_)?`+guid+`.*`+seq).Replace(strings.Join(patterns, "|"))
	return "^(" + all + ")$"
}

// CheckName reports why NewNames cannot take a pattern: it is no regular expression, or not of a parent and a name.
func CheckName(pattern string) error {
	if strings.Count(pattern, "/") != 1 {
		return fmt.Errorf("%q is not PARENT/NAME", pattern)
	}
	if _, err := regexp.Compile(whole(pattern)); err != nil {
		return fmt.Errorf("%q: %w", pattern, err)
	}
	return nil
}

// Only returns a session that lists only children with zkbench's names, to look for what a recipe has left: what others have put
// beside it is no recipe's doing.
func (n Names) Only(s zk.Session) zk.Session { return &ours{s, n} }

type ours struct {
	zk.Session
	names Names
}

// Unwrap returns the session below, for optional powers such as persistent watches.
func (o *ours) Unwrap() zk.Session { return o.Session }

func (o *ours) Children(ctx context.Context, path string) ([]string, zk.Stat, error) {
	names, st, err := o.Session.Children(ctx, path)
	return slices.DeleteFunc(names, func(name string) bool { return !o.names.isOurs(base(path), name) }), st, err
}
