// Package traffic tells from the files of one ZooKeeper server what load its clients put on the ensemble: Analyze makes a Report, and Report.Profile a profile with that load.
//
// It reads transaction logs and a snapshot, in memory that has a bound: beyond it, what is no longer followed is counted. It never guesses: what the files
// do not hold, such as the kinds of reads, is listed in the report as unknown.
package traffic
