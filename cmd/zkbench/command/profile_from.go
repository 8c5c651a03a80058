package command

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/page"
	"github.com/zkbench/zkbench/results/export"
	"github.com/zkbench/zkbench/traffic"
)

// trafficVariants are the variants of the profiles that profile-from writes for recognized recipes: the log does not say which the clients use.
var trafficVariants = map[string]string{traffic.Lock: "predecessor", traffic.Queue: "fifo", traffic.Election: "predecessor"}

// trafficGC is the garbage that may accumulate while files are read, in percent of the live memory: what is followed may be large, and there is nothing to measure.
const trafficGC = 30

func (a *app) profileFrom(ctx context.Context, args []string) error {
	f := a.flags("profile-from DIR [DIR]", `Reports the load that clients put on an ensemble, from the transaction logs and snapshots of one of its servers (dataDir and, if it is another one,
dataLogDir, or copies of them): requests, mix, sizes, sessions, recipes. It only reads, needs no server, and keeps no data of znodes. Use the files of one server only.
With --profile it writes profiles that 'run', 'ab' and 'capacity' accept: FILE for the mix of requests, and FILE-lock-1 and so on for each recipe.`)
	from := f.String("from", "", "only transactions from this `TIME` on, such as 2026-11-24T08:00:00Z")
	to := f.String("to", "", "only transactions before this `TIME`")
	names := f.Bool("names", false, "show the names of znodes in patterns; by default hashes with a salt of this report stand for them")
	profile := f.String("profile", "", "write profiles with this load to `FILE` and beside it")
	reads := f.String("reads", "", "with --profile: the kinds of reads, which are not in the files, such as get=70,exists=20,children=10; without it reads are left out")
	markdown := f.Bool("markdown", false, "write Markdown")
	asJSON := f.Bool("json", false, "write the document, of schema "+traffic.Schema)
	html := f.String("html", "", "also write a page with plots to this `file`, and its style sheet report.css beside it")
	single := f.Bool("single", false, "with --html: include the style sheet in the page, as a single file")
	out := f.String("out", "", "`FILE` to write instead of standard output")
	if err := parse(f, args); err != nil {
		return err
	}
	o := traffic.Options{Names: *names, Salt: rand.Text()}
	var err error
	switch {
	case f.NArg() == 0:
		return usagef("profile-from takes the dataDir of a server, and its dataLogDir")
	case *markdown && *asJSON:
		return usagef("--markdown and --json cannot be combined (remove one of them)")
	case *single && *html == "":
		return usagef("--single: only valid with --html FILE")
	case *reads != "" && *profile == "":
		return usagef("--reads: only valid with --profile")
	}
	if o.From, o.To, err = window(*from, *to); err != nil {
		return err
	}
	weights, err := readWeights(*reads)
	if err != nil {
		return err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(trafficGC))
	ctx, cancel := a.interruptible(ctx)
	defer cancel()
	doc, err := traffic.Analyze(ctx, f.Args(), o)
	if err != nil {
		return a.interrupted(ctx, err)
	}
	shown, look := report.Report(nil), report.Look{}
	if *out == "" {
		look = a.look()
	}
	switch {
	case *markdown:
		shown = report.Markdown(report.Traffic(*doc))
	case *asJSON:
		shown = report.JSON(doc)
	default:
		shown = report.Text(report.Traffic(*doc), look)
	}
	if *out == "" {
		err = shown(a.stdout)
	} else {
		err = export.ToFile(*out, shown)
	}
	if err != nil {
		return err
	}
	if err := doc.Check(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(f.Args(), ", "), err)
	}
	if *html != "" {
		if err := page.WriteFile(*html, *single, page.Source{Traffic: (*report.Traffic)(doc)}); err != nil {
			return err
		}
	}
	if *profile == "" {
		return nil
	}
	return a.writeTraffic(doc, *profile, weights)
}

// writeTraffic writes the profiles, and says which.
func (a *app) writeTraffic(doc *traffic.Report, path string, reads map[string]int) error {
	all := doc.Profiles(traffic.ProfileOptions{Reads: reads, Variants: trafficVariants})
	if len(all) == 0 {
		return fmt.Errorf("--profile: no write of a kind that a profile can have, and no recipe")
	}
	extension := filepath.Ext(path)
	if extension != ".yaml" && extension != ".yml" {
		extension = ""
	}
	base := strings.TrimSuffix(path, extension)
	for _, p := range all {
		file := base + p.Suffix + extension
		if _, err := a.setup.Catalogue().Parse(file, []byte(p.Text)); err != nil {
			return fmt.Errorf("the profile made of this load is not valid: %w", err)
		}
		if err := export.ToFile(file, func(w io.Writer) error { _, err := io.WriteString(w, p.Text); return err }); err != nil {
			return err
		}
		fmt.Fprintln(a.stderr, "wrote", file)
	}
	if doc.Reads.Count > 0 && reads == nil {
		fmt.Fprintf(a.stderr, "the profile has no reads: there were %d, but their kinds are not in the files (say them with --reads get=70,exists=20,children=10)\n", doc.Reads.Count)
	}
	return nil
}

// window parses the values of --from and --to.
func window(from, to string) (first, end time.Time, err error) {
	if first, err = moment("--from", from); err == nil {
		end, err = moment("--to", to)
	}
	if err == nil && !first.IsZero() && !end.IsZero() && !first.Before(end) {
		err = usagef("--to: must be after --from (%s), got %s", from, to)
	}
	return first, end, err
}

func moment(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, usagef("%s: %q is not a time (expected such as 2026-11-24T08:00:00Z or 2026-11-24T09:00:00+01:00)", flag, text)
	}
	return t, nil
}

// readWeights parses the value of --reads; an empty one is nil.
func readWeights(text string) (map[string]int, error) {
	if text == "" {
		return nil, nil
	}
	kinds := []string{"get", "exists", "children", "sync"}
	weights, sum := map[string]int{}, 0
	for part := range strings.SplitSeq(text, ",") {
		word, number, _ := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.Atoi(number)
		if !slices.Contains(kinds, word) || err != nil || n < 0 || n > 1_000_000 {
			return nil, usagef("--reads: %q (expected weights of %s, such as get=70,exists=20,children=10)", part, strings.Join(kinds, ", "))
		}
		if _, twice := weights[word]; twice {
			return nil, usagef("--reads: duplicate kind %q", word)
		}
		weights[word] = n
		sum += n
	}
	if sum == 0 {
		return nil, usagef("--reads: all weights are 0")
	}
	return weights, nil
}
