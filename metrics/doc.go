// Package metrics defines the Sample, the Recorder, mergeable histograms and interval series.
//
// A [Sample] is both the measurement and the history event: histogram, time series, safety check and raw log are all
// [Recorder]s of the same samples. A new reader is a new Recorder, never a wider producer.
package metrics
