package profiles

import (
	"fmt"
	"slices"
)

// The fields of the workloads that these tests know.
var (
	testObjects   = Field{Key: "objects", Type: WholeNumber, Example: "100", Default: "1", Min: 1, Max: 1e6, Doc: "Objects."}
	testHold      = Field{Key: "hold", Type: DurationDistribution, Example: "{exponential: 5ms}", Default: "0s", Max: float64(day), Doc: "Hold."}
	testFence     = Field{Key: "fence", Type: OneOf, Axis: true, Example: "[none, server]", Words: []string{"none", "server"}, Doc: "Fence."}
	testReaders   = Field{Key: "readers", Type: WholeNumber, Axis: true, Example: "[0, 50]", Default: "0", Max: 100, Doc: "Readers."}
	testProducers = Field{Key: "producers", Type: WholeNumber, Axis: true, Example: "[20, 50]", Default: "50", Max: 100, Doc: "Producers."}
	testBarriers  = Field{Key: "barriers", Type: WholeNumber, Axis: true, Example: "[200, 400]", Default: "100", Min: 1, Max: 1e6, Doc: "Barriers."}
)

// catalogue is small, and has one workload of each shape.
var catalogue = Catalogue{
	{Name: "lock", Alias: map[string]string{"locks": "objects"}, Fields: []Field{testObjects, testHold, testFence},
		Check: func(p Profile) []Problem {
			if n, least := p.Values().Int(testObjects), slices.Min(p.Sessions); n > least {
				return []Problem{{Key: "objects", Message: fmt.Sprintf("%d need as many sessions, got %d", n, least)}}
			}
			return nil
		}},
	{Name: "read-write", Alias: map[string]string{"locks": "objects"}, Fields: []Field{testObjects, testReaders, testHold}},
	{Name: "queue", Alias: map[string]string{"queues": "objects"}, Fields: []Field{testObjects, testProducers, testHold},
		Check: func(p Profile) []Problem {
			if i := slices.Index(p.Ints(testProducers), 0); i >= 0 {
				return []Problem{{Key: "producers", Index: i, Message: "nothing to take"}}
			}
			return nil
		}},
	{Name: "double-barrier", Shape: Finite, Ends: "when each client has passed its barriers", Alias: map[string]string{"clients": "sessions"},
		Fields: []Field{testBarriers, testHold}},
	{Name: "published", Shape: Played, Once: true},
	{Name: "fencing", Shape: Played},
	{Name: "secured", Shape: Played, Once: true},
}
