package workloads

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/recipes"
)

// choices are the options that a variant takes, by name: each sets one from its text, or says what is wrong with it.
type choices map[string]func(o *recipes.Options, value string) error

// set sets one option.
func (c choices) set(o recipes.Options, name, value string) (recipes.Options, error) {
	choice, known := c[name]
	if !known {
		return o, fmt.Errorf("unknown option %q; known are %s", name, strings.Join(slices.Sorted(maps.Keys(c)), ", "))
	}
	if err := choice(&o, value); err != nil {
		return o, fmt.Errorf("option %s: %w", name, err)
	}
	return o, nil
}

// among checks a word.
func among(words []string, value string) error {
	if slices.Contains(words, value) {
		return nil
	}
	return fmt.Errorf("%q is not one of %s", value, strings.Join(words, ", "))
}

// oneOf is the choice of what a waiter watches.
func oneOf(watches []string) func(*recipes.Options, string) error {
	return func(o *recipes.Options, value string) error {
		if len(watches) == 0 {
			return fmt.Errorf("there is no choice of watches here")
		}
		o.Watch = value
		return among(watches, value)
	}
}

func layouts(all []recipes.Layout) func(*recipes.Options, string) error {
	return func(o *recipes.Options, value string) error {
		var names []string
		for _, l := range all {
			if names = append(names, l.Name()); l.Name() == value {
				o.Layout = l
			}
		}
		return among(names, value)
	}
}

// sharedChoices are those of the read/write locks.
func sharedChoices(watches, readerWatches []string) choices {
	return choices{"watch": oneOf(watches), "layout": layouts(recipes.ReadWriteLayouts),
		"reader-watch": func(o *recipes.Options, value string) error {
			o.ReaderWatch = value
			return among(readerWatches, value)
		}}
}

func isTrue(value string) (bool, error) {
	if value != "true" && value != "false" {
		return false, fmt.Errorf("%q is not true or false", value)
	}
	return value == "true", nil
}

func watchOwn(o *recipes.Options, value string) (err error) {
	o.WatchOwn, err = isTrue(value)
	return err
}

func alive(o *recipes.Options, value string) (err error) {
	o.Alive, err = isTrue(value)
	return err
}

func sharedPermits(o *recipes.Options, value string) (err error) {
	o.SharedPermits, err = isTrue(value)
	return err
}

func force(o *recipes.Options, value string) (err error) {
	if o.Force, err = time.ParseDuration(value); err != nil || o.Force <= 0 {
		return fmt.Errorf("%q is not a duration above 0, such as 2s", value)
	}
	return nil
}

// queueChoices are those of the queues: of all how an item is put, and of some how they come by the names of the items.
func queueChoices(v recipes.Variant[recipes.Queue]) choices {
	c := choices{"offer": offer, "ephemeral-items": ephemeralItems}
	if len(v.Lists) > 0 {
		c["list"] = func(o *recipes.Options, value string) error {
			o.List = value
			return among(v.Lists, value)
		}
	}
	if v.FIFO {
		c["window"] = window
	}
	return c
}

func offer(o *recipes.Options, value string) error {
	o.Exact = value == "exact"
	return among([]string{"at-least-once", "exact"}, value)
}

func ephemeralItems(o *recipes.Options, value string) (err error) {
	o.EphemeralItems, err = isTrue(value)
	return err
}

func window(o *recipes.Options, value string) (err error) {
	if o.Window, err = strconv.Atoi(value); err != nil || o.Window < 1 {
		return fmt.Errorf("%q is not a whole number from 1 on", value)
	}
	return nil
}
