package workloads

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/recipes"
)

// Option is a setting of a recipe that a user may choose.
type Option struct {
	Name   string
	Values []string // allowed values, the default first; or one description in angle brackets
	set    func(o *recipes.Options, value string) error
}

// set sets one of the options.
func set(o recipes.Options, choices []Option, name, value string) (recipes.Options, error) {
	i := slices.IndexFunc(choices, func(c Option) bool { return c.Name == name })
	if i < 0 {
		if len(choices) == 0 {
			return o, fmt.Errorf("unknown option %q (it has no options)", name)
		}
		var names []string
		for _, c := range choices {
			names = append(names, c.Name)
		}
		slices.Sort(names)
		return o, fmt.Errorf("unknown option %q (expected one of %s)", name, strings.Join(names, ", "))
	}
	if err := choices[i].set(&o, value); err != nil {
		return o, fmt.Errorf("option %s: %w", name, err)
	}
	return o, nil
}

// among returns an error if value is not one of words.
func among(words []string, value string) error {
	if slices.Contains(words, value) {
		return nil
	}
	return fmt.Errorf("%q is not one of %s", value, strings.Join(words, ", "))
}

// word returns an option whose value is one of words, or no option if there are none.
func word(name string, words []string, put func(*recipes.Options, string)) []Option {
	if len(words) == 0 {
		return nil
	}
	return []Option{{name, words, func(o *recipes.Options, value string) error {
		put(o, value)
		return among(words, value)
	}}}
}

// boolean returns an option that is true or false.
func boolean(name string, put func(*recipes.Options, bool)) Option {
	return Option{name, []string{"false", "true"}, func(o *recipes.Options, value string) error {
		if value != "true" && value != "false" {
			return fmt.Errorf("%q is not a boolean (true or false)", value)
		}
		put(o, value == "true")
		return nil
	}}
}

// positive returns an option that is an integer of at least 1.
func positive(name, what string, put func(*recipes.Options, int)) Option {
	return Option{name, []string{"<" + what + ">"}, func(o *recipes.Options, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a %s of at least 1", value, what)
		}
		put(o, n)
		return nil
	}}
}

// watch returns the option for what a waiter watches, if there is a choice.
func watch(watches []string) []Option {
	return word("watch", watches, func(o *recipes.Options, value string) { o.Watch = value })
}

// layout returns the option for how the children of an object are named.
func layout(all []recipes.Layout) []Option {
	var names []string
	for _, l := range all {
		names = append(names, l.Name)
	}
	return word("layout", names, func(o *recipes.Options, value string) {
		if i := slices.Index(names, value); i >= 0 {
			o.Layout = all[i]
		}
	})
}

var watchOwn = boolean("watch-own", func(o *recipes.Options, on bool) { o.WatchOwn = on })

// sharedOptions returns the options of the read/write locks.
func sharedOptions(watches, readerWatches []string) []Option {
	return slices.Concat(watch(watches), layout(recipes.ReadWriteLayouts),
		word("reader-watch", readerWatches, func(o *recipes.Options, value string) { o.ReaderWatch = value }))
}

var force = Option{"force", []string{"<duration>"}, func(o *recipes.Options, value string) (err error) {
	if o.Force, err = time.ParseDuration(value); err != nil || o.Force <= 0 {
		return fmt.Errorf("%q is not a duration above 0, such as 2s", value)
	}
	return nil
}}
