// Command zkbench load-tests the coordination recipes that people build on Apache ZooKeeper, and judges in the same run whether
// they kept their promise.
package main

import "github.com/zkbench/zkbench"

func main() { zkbench.Main(zkbench.Setup{}) }
