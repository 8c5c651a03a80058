package recipes_test

import (
	"testing"

	"github.com/zkbench/zkbench/recipes/counter"
	"github.com/zkbench/zkbench/recipes/recipestest"
)

func TestNumbersOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		for _, v := range counter.Variants() {
			t.Run(engine+"/"+v.Name, func(t *testing.T) {
				recipestest.CounterOn(t, v, dialer(addresses, open), fresh()+"/numbers/"+engine+"-"+v.Name)
			})
		}
		for _, v := range counter.IDVariants() {
			t.Run(engine+"/"+v.Name, func(t *testing.T) {
				recipestest.IDsOn(t, v, dialer(addresses, open), fresh()+"/numbers/"+engine+"-"+v.Name)
			})
		}
	}
}
