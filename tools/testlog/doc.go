// Command testlog runs 'go test' and reports what happens while it happens: a line for each package as it ends, what is running at least every
// 20 seconds, and at the end the slowest tests, why tests were skipped, all failures in full, and one line of counts.
//
//	testlog -short ./... -- -race -short ./zk/... -- -C drivers/redis ./... -- ZOOKEEPER_HOME=/opt/zookeeper ./recipes
//
// Each group of arguments between "--" is one 'go test', which may begin with environment variables of its own; they run concurrently and are reported
// together. The exit code is 1 if any of them failed.
package main
