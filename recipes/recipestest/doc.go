// Package recipestest is the conformance suite of the recipes: it tests that a lock, a queue or an election keeps the promises of package recipes,
// no matter who wrote it. zkbench's own variants are tested with it, and yours can be:
//
//	func TestMyLock(t *testing.T) {
//		recipestest.Lock(t, recipes.Variant[recipes.Lock]{Name: "mine", FIFO: true, Tokens: true, New: newMyLock})
//	}
//
// [Lock] runs on an ensemble in memory, where sessions expire, connections break, replies get lost and processes stop at the points that matter, and no
// time passes, so that a waiter has to be woken by an event, and a lock that polls fails: it takes well under a second and needs no server. It tests what the variant declares in the fields of recipes.Variant: FIFO, Tokens, Reentrant.
//
// The functions whose names end in On run what can be tested with any ensemble, on one that a function dials. It may consist of real servers:
// ensemble/ensembletest starts them, zk/wire and zk/gozk dial them.
//
// The package imports testing, and is for tests only.
package recipestest
