package recipes_test

import (
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/lock"
	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/recipes/semaphore"
)

func TestMultiLocksOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		for _, v := range lock.MultiVariants() {
			t.Run(engine+"/"+v.Name, func(t *testing.T) {
				recipestest.MultiLockOn(t, v, dialer(addresses, open), fresh()+"/multi-"+engine+"-"+v.Name)
			})
		}
	}
}

func TestReadWriteLocksOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		for _, v := range lock.RWVariants() {
			t.Run(engine+"/"+v.Name, func(t *testing.T) {
				recipestest.RWLockOn(t, v, dialer(addresses, open), fresh()+"/rw-"+engine+"-"+v.Name)
			})
		}
	}
}

func TestSemaphoresOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		for _, v := range semaphore.Variants() {
			t.Run(engine+"/"+v.Name, func(t *testing.T) {
				recipestest.SemaphoreOn(t, v, dialer(addresses, open), fresh()+"/semaphore-"+engine+"-"+v.Name)
			})
		}
	}
}

func TestARevocationOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		t.Run(engine, func(t *testing.T) {
			dial := dialer(addresses, open)
			path := fresh() + "/revocation-" + engine
			v := lock.RevocableVariants()[0]
			holder, other := v.New(dial(t), path, recipes.Options{}), v.New(dial(t), path, recipes.Options{})
			g, err := holder.AcquireWrite(t.Context())
			bubble.OK(t, "AcquireWrite()", err)
			done := make(chan error, 1)
			go func() {
				_, err := other.Revoke(t.Context(), g.Path)
				done <- err
			}()
			awaited(t, "Revoked", g.Revoked)
			bubble.OK(t, "Release()", holder.Release(t.Context()))
			bubble.OK(t, "Revoke()", awaited(t, "Revoke()", done))
			_, err = other.AcquireRead(t.Context())
			bubble.OK(t, "AcquireRead()", err)
			bubble.OK(t, "Release()", other.Release(t.Context()))
		})
	}
}
