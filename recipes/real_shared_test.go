package recipes_test

import (
	"testing"

	"github.com/zkbench/zkbench/recipes"
)

func TestReadWriteLocksOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		for _, v := range recipes.RWLocks {
			t.Run(engine+"/"+v.Name, func(t *testing.T) {
				sharedSuite(t, v, dialer(addresses, open), "/real/rw-"+engine+"-"+v.Name)
			})
		}
	}
}

func TestSemaphoresOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		for _, v := range recipes.Semaphores {
			t.Run(engine+"/"+v.Name, func(t *testing.T) {
				semaphoreSuite(t, v, dialer(addresses, open), "/real/semaphore-"+engine+"-"+v.Name)
			})
		}
	}
}

func TestARevocationOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		t.Run(engine, func(t *testing.T) {
			dial := dialer(addresses, open)
			path := "/real/revocation-" + engine
			v := recipes.Revocables[0]
			holder, other := v.New(dial(t), path, recipes.Options{}), v.New(dial(t), path, recipes.Options{})
			g, err := holder.AcquireWrite(t.Context())
			ok(t, "AcquireWrite()", err)
			done := make(chan error)
			go func() {
				_, err := other.Revoke(t.Context(), g.Path)
				done <- err
			}()
			<-g.Revoked
			ok(t, "Release()", holder.Release(t.Context()))
			ok(t, "Revoke()", <-done)
			_, err = other.AcquireRead(t.Context())
			ok(t, "AcquireRead()", err)
			ok(t, "Release()", other.Release(t.Context()))
		})
	}
}
