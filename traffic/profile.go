package traffic

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// ProfileOptions say what a profile needs beyond the report.
type ProfileOptions struct {
	Reads    map[string]int    // weights of the kinds of reads: get, exists, children, sync; nil: reads are left out, because their kinds are not in the files
	Variants map[string]string // the recipe's variant for each kind of recipe; kinds without one have no profile
}

// Profile is a profile of zkbench, in YAML, in which a comment says where each figure comes from.
type Profile struct {
	Suffix string // of the file's name: empty for the mix, otherwise the kind and number of a recipe
	Text   string
}

// Profiles returns the profile of the mix, if there are writes for one, and one for each recognized recipe that has a workload.
func (r *Report) Profiles(o ProfileOptions) (all []Profile) {
	if text := r.mixProfile(o); text != "" {
		all = append(all, Profile{"", text})
	}
	number := map[string]int{}
	for _, recipe := range r.Recipes {
		variant := o.Variants[recipe.Kind]
		if variant == "" {
			continue
		}
		number[recipe.Kind]++
		all = append(all, Profile{fmt.Sprintf("-%s-%d", recipe.Kind, number[recipe.Kind]), r.recipeProfile(recipe, variant)})
	}
	return all
}

// yaml writes lines of a profile, each with its origin.
type yaml struct{ strings.Builder }

func (y *yaml) comment(format string, args ...any) { fmt.Fprintf(y, "# "+format+"\n", args...) }

func (y *yaml) set(key, origin, format string, args ...any) {
	line := key + ": " + fmt.Sprintf(format, args...)
	fmt.Fprintf(y, "%-40s # %s\n", line, origin)
}

func (r *Report) head(y *yaml, what string) {
	y.comment("%s, as the logs have it from %s to %s (up to transaction %s).", what, r.From.Format(time.RFC3339), r.To.Format(time.RFC3339), r.Coverage.Last)
}

func (r *Report) tail(y *yaml) {
	if len(r.Sessions.Timeouts) > 0 && r.Sessions.Timeouts[0].MS >= 100 && r.Sessions.Timeouts[0].MS <= 3_600_000 {
		t := r.Sessions.Timeouts[0]
		y.set("session_timeout", fmt.Sprintf("sessions: the most frequent timeout, of %d of them", t.Count), "%dms", t.MS)
	}
	y.set("warmup", "not from the files", "5s")
	y.set("duration", "not from the files", "60s")
	y.set("seed", "not from the files", "7")
	n := 3
	if m := len(r.Sessions.Members); slices.Contains([]int{1, 5, 7}, m) {
		n = m
	}
	y.set("ensemble", fmt.Sprintf("members that opened sessions: %d; --servers uses running servers instead", len(r.Sessions.Members)), "local:%d", n)
}

func (r *Report) mixProfile(o ProfileOptions) string {
	var creates, ephemeral, sets, deletes, multis, others int64
	for _, k := range r.Mix {
		switch {
		case strings.HasPrefix(k.Kind, "create"):
			creates += k.Count
			if strings.HasPrefix(k.Kind, "create ephemeral") {
				ephemeral += k.Count
			}
		case k.Kind == "setData":
			sets += k.Count
		case k.Kind == "delete":
			deletes += k.Count
		case k.Kind == "multi":
			multis += k.Count
		case k.Kind != "deleteContainer":
			others += k.Count
		}
	}
	total := creates + sets + deletes + multis
	if total == 0 {
		return ""
	}
	y := &yaml{}
	r.head(y, "The mix of requests")
	if others > 0 {
		y.comment("Left out: %d writes that failed, or were of kinds that the workload does not have (%.2g %% of all writes).", others, 100*float64(others)/float64(r.Writes.Count))
	}
	reads := r.Reads.Count
	if o.Reads == nil && reads > 0 {
		y.comment("Left out: %d reads (%.3g/s, %.3g for each write). Their number is known, but not their kinds: say those with --reads.", reads, r.Reads.PerSecond, r.Reads.PerWrite)
		reads = 0
	}
	y.comment("Not in the files: which znodes are read, and how often each.")
	y.set("workload", "the mix of all clients", "operations")
	variant := "persistent"
	if 2*ephemeral > creates {
		variant = "ephemeral"
	}
	y.set("variants", fmt.Sprintf("creates: %d of %d were ephemeral", ephemeral, creates), "[%s]", variant)
	y.set("sessions", fmt.Sprintf("sessions: the mean at a time, of %d at most", r.Sessions.Peak), "%d", max(1, int64(math.Round(r.Sessions.Mean))))
	kept := min(deletes, creates) // the workload deletes only what it has created
	origin := fmt.Sprintf("writes by kind: %d creates, %d sets, %d deletes, %d multis", creates, sets, deletes, multis)
	if kept < deletes {
		origin += fmt.Sprintf("; %d deletes are left out, of what was there before or was created in multis", deletes-kept)
	}
	weights := []string{}
	all := creates + sets + kept + multis + reads
	add := func(word string, n float64) {
		if n > 0 {
			weights = append(weights, fmt.Sprintf("%s: %d", word, max(1, int64(math.Round(100_000*n/float64(all))))))
		}
	}
	sum := 0
	for _, w := range o.Reads {
		sum += w
	}
	if reads > 0 && sum > 0 {
		for _, word := range []string{"get", "exists", "children", "sync"} {
			add(word, float64(reads)*float64(o.Reads[word])/float64(sum))
		}
		origin += fmt.Sprintf("; %d reads from the numbers of requests, with the kinds of --reads", reads)
	}
	add("set", float64(sets))
	add("create", float64(creates))
	add("delete", math.Min(float64(kept), float64(creates)))
	add("multi", float64(multis))
	y.set("mix", origin, "{%s}", strings.Join(weights, ", "))
	if multis > 0 {
		y.set("batch", "operations of multis: the mean; the workload's multis set znodes", "%d", max(1, min(100, int64(math.Round(r.Multis.Mean)))))
	}
	if sizes := r.Writes.Data; sizes.Count > 0 {
		y.set("size", fmt.Sprintf("bytes of %d znodes created or set: at 5, 15, ... 95 %%", sizes.Count), "%s", sizeList(sizes))
	}
	if r.Seconds > 0 {
		y.set("rate", fmt.Sprintf("%d requests in %.6g s", all, r.Seconds), "%.6g/s", max(0.001, float64(all)/r.Seconds))
	}
	if r.Tree != nil && r.Tree.Znodes > 0 {
		y.set("prefill", "znodes of the snapshot, at most 5,000,000", "%d", min(r.Tree.Znodes, 5_000_000))
		y.set("prefill_size", "bytes of a znode of the snapshot: the mean", "%d", min(400_000, int64(math.Round(r.Tree.Data.Mean))))
	}
	r.tail(y)
	return y.String()
}

// sizeList writes quantiles as sizes, or the one size that they all are.
func sizeList(v Values) string {
	var words []string
	for _, q := range v.Quantiles {
		words = append(words, fmt.Sprint(min(q, 400_000)))
	}
	if words = slices.Compact(words); len(words) == 1 {
		return words[0]
	}
	return "{list: [" + strings.Join(words, ", ") + "]}"
}

func (r *Report) recipeProfile(c Recipe, variant string) string {
	y := &yaml{}
	r.head(y, fmt.Sprintf("A %s in %s", c.Kind, c.Pattern))
	y.comment("Not in the files: which variant of the recipe the clients use.")
	y.set("workload", "recognized by what came and went in these directories", "%s", c.Kind)
	y.set("variants", "not from the files", "[%s]", variant)
	switch c.Kind {
	case Queue:
		y.set("sessions", fmt.Sprintf("sessions that put or took: %d", c.Sessions), "%d", max(2, c.Sessions))
		y.set("queues", "directories", "%d", max(1, c.Objects))
		y.set("payload", "bytes of an item: the mean", "%d", int64(math.Round(c.Bytes.Mean)))
		if n := c.HoldMS.Count; n > 0 {
			y.set("hold", fmt.Sprintf("%d claims: mean %.4g ms, median %d, 90 %% within %d", n, c.HoldMS.Mean, c.HoldMS.P50, c.HoldMS.P90), "%s", holdOf(c.HoldMS))
		}
		y.set("rate", fmt.Sprintf("%d puts", c.Puts), "%.6g/s", max(0.001, c.PutRate))
	case Election:
		y.set("sessions", fmt.Sprintf("candidates: %d sessions in %d elections", c.Sessions, c.Objects), "%d", max(c.Sessions, 2*c.Objects))
		y.set("elections", "directories", "%d", max(1, c.Objects))
		y.set("hold", holdOrigin(c), "%s", holdOf(c.HoldMS))
	default:
		if busy := 10*c.HandOver >= 9*c.Grants; busy {
			y.comment("Nearly every grant went to one who waited, so the contenders ask again at once: a closed loop.")
			y.set("sessions", "contenders: most at a time, times the locks", "%d", max(2, c.Most*max(1, c.Objects)))
		} else {
			y.set("sessions", fmt.Sprintf("different sessions: %d", c.Sessions), "%d", max(1, c.Sessions))
			y.set("rate", fmt.Sprintf("%d grants", c.Grants), "%.6g/s", max(0.001, c.GrantsPS))
		}
		y.set("locks", "directories", "%d", max(1, c.Objects))
		y.set("hold", holdOrigin(c), "%s", holdOf(c.HoldMS))
	}
	r.tail(y)
	return y.String()
}

func holdOrigin(c Recipe) string {
	return fmt.Sprintf("%d grants: mean %.4g ms, median %d, 90 %% within %d; a waiter's notification is in it", c.Grants, c.HoldMS.Mean, c.HoldMS.P50, c.HoldMS.P90)
}

// holdOf returns a distribution with the mean of the values and, where they vary, the spread between the median and the 90th percentile, as of a lognormal one.
func holdOf(v Values) string {
	mean := time.Duration(v.Mean * float64(time.Millisecond)).Round(time.Microsecond)
	if v.P50 <= 0 || float64(v.P90) < 1.05*float64(v.P50) {
		return mean.String()
	}
	const z90 = 1.2816 // the 90th percentile of the standard normal distribution
	return fmt.Sprintf("{lognormal: {mean: %v, sigma: %.2f}}", mean, math.Min(3, math.Log(float64(v.P90)/float64(v.P50))/z90))
}
