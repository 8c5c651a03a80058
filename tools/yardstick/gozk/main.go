// Command gozk drives ZooKeeper through github.com/go-zookeeper/zk, as an application would.
package main

import (
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/tools/yardstick"
)

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func main() {
	w := yardstick.Flags()
	base, start := yardstick.Resident(), time.Now()
	conns := connect(w)
	out := yardstick.Result{Generator: "gozk", Sessions: w.Sessions, Children: w.Children,
		Connected: time.Since(start).Seconds(), IdleKiB: float64(yardstick.Resident()-base) / float64(w.Sessions)}
	if w.Ops > 0 {
		load(conns, w, &out)
	}
	out.PeakMiB = yardstick.Peak()
	if err := out.Print(); err != nil {
		log.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(c.Close)
	}
	wg.Wait()
}

// connect opens the sessions, 64 at a time.
func connect(w yardstick.Work) []*zk.Conn {
	conns := make([]*zk.Conn, w.Sessions)
	gate := make(chan struct{}, 64)
	var wg sync.WaitGroup
	for i := range conns {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			c, events, err := zk.Connect(w.Servers, 30*time.Second, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
			if err != nil {
				log.Fatal(err)
			}
			for e := range events {
				if e.State == zk.StateHasSession {
					break
				}
			}
			conns[i] = c
		})
	}
	wg.Wait()
	return conns
}

func load(conns []*zk.Conn, w yardstick.Work, out *yardstick.Result) {
	acl := zk.WorldACL(zk.PermAll)
	conns[0].Create("/yardstick", make([]byte, 100), 0, acl)
	dir := fmt.Sprintf("/yardstick/children-%d", w.Children)
	if w.Children > 0 {
		conns[0].Create(dir, nil, 0, acl)
		for i := range w.Children {
			conns[0].Create(dir+"/"+yardstick.ChildName(i), nil, 0, acl)
		}
	}
	m := yardstick.Start()
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() {
			for range w.Ops / w.Sessions {
				var err error
				if w.Children > 0 {
					_, _, err = c.Children(dir)
				} else {
					_, _, err = c.Get("/yardstick")
				}
				if err != nil {
					log.Fatal(err)
				}
			}
		})
	}
	wg.Wait()
	m.Stop(out, w.Ops/w.Sessions*w.Sessions)
}
