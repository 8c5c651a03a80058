// Package yardstick contains what the load generators below it share: flags, the meters of this process, and the line they print.
//
// Each generator creates what it needs under /yardstick, does one piece of work, and prints one JSON line:
//
//   - floor is one thread with one read and one write system call for each operation, and no client library: what the work
//     costs at least.
//   - gozk is github.com/go-zookeeper/zk as an application uses it.
//   - native is package zk/wire, zkbench's own client. With -recipe it is the bare loop of a recipe, the floor of 'zkbench run'.
//
// The times vary from run to run, so command compare runs the generators in turn, several times, and reports ratios of medians.
package yardstick
