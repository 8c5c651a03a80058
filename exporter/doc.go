// Package exporter serves the state of a run in Prometheus's format while it goes on.
//
// It is filled from what is merged once a second and never by a session, so that being scraped costs the load nothing. Times are in seconds,
// counters only grow over all cells of a run, labels are from fixed sets, and the run is named in zkbench_run_info alone. A histogram has classic
// buckets, and for scrapers that ask for them native ones, made from the counts of the HdrHistogram.
package exporter
