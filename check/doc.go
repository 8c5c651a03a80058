// Package check judges histories: exclusion, order, delivery, leadership, atomicity.
//
// A check is a pure function from the samples of a run to a [Verdict]. It answers Unknown, never Holds, when the history
// holds no evidence; and every check has a test with a history that violates it.
package check
