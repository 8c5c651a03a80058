package profiles

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

var drawn = []Field{{Key: "mix", Type: WordShares, Words: []string{"get", "set"}}, {Key: "payload", Type: SizeDistribution, Max: 1e6}, {Key: "keys", Type: KeyPopularity}}

// A value is written as it was read, and drawn as it says.
func TestDraws(t *testing.T) {
	c := Catalogue{{Name: "w", Fields: drawn}}
	r := rand.New(rand.NewPCG(1, 1))
	const n = 20_000
	for yaml, mean := range map[string]float64{"1024": 1024, "{uniform: [10, 30]}": 20, "{lognormal: {mean: 100, sigma: 1}}": 100, "{list: [1, 2, 6]}": 3} {
		p, err := c.Parse("t.yaml", []byte("workload: w\nvariants: [v]\nsessions: 1\nmix: {set: 1, get: 3}\nkeys: {hot: {keys: 2, share: 90}}\npayload: "+yaml))
		if err != nil {
			t.Fatal(err)
		}
		text, err := Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := c.Parse("t.yaml", text)
		if err != nil || !reflect.DeepEqual(again.Values(), p.Values()) {
			t.Errorf("%s is read again as %v, %v; was %v", text, again.Values(), err, p.Values())
		}
		v := p.Values()
		if get := v.Shares(drawn[0]).Of("get"); get != 0.75 {
			t.Errorf("get has a share of %v", get)
		}
		sizes, sum := v.Sizes(drawn[1]), 0
		for range n {
			sum += sizes.Sample(r)
		}
		if got := float64(sum) / n; got < 0.9*mean || got > 1.1*mean {
			t.Errorf("%s: mean %v of what is drawn, want %v", yaml, got, mean)
		}
	}
	for p, want := range map[Popularity]float64{{}: 0.1, {Kind: Zipf, Skew: 1}: 1 / 2.929, {Kind: HotSet, Keys: 2, Share: 90}: 0.45} {
		draw, first := p.Of(10), 0
		for range n {
			if draw(r) == 0 {
				first++
			}
		}
		if got := float64(first) / n; got < 0.9*want || got > 1.1*want {
			t.Errorf("%v: the first of 10 keys in %v of the draws, want %v", p, got, want)
		}
	}
}
