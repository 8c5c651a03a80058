package recipes_test

import (
	"testing"

	"github.com/zkbench/zkbench/recipes/membership"
	"github.com/zkbench/zkbench/recipes/recipestest"
)

func TestGroupsOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		for _, v := range membership.Variants() {
			t.Run(engine+"/"+v.Name, func(t *testing.T) {
				recipestest.GroupOn(t, v, dialer(addresses, open), fresh()+"/groups/"+engine+"-"+v.Name)
			})
		}
	}
}
