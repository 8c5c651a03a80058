// Package metrics defines the Sample, the Recorder, mergeable histograms and interval series.
//
// A [Sample] is both the measurement and the history event: histograms, time series and the history for the checks are all [Recorder]s of the same
// samples. A new reader is a new Recorder, never a wider producer.
package metrics
