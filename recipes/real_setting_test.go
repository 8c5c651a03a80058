package recipes_test

import (
	"testing"

	"github.com/zkbench/zkbench/recipes/recipestest"
	"github.com/zkbench/zkbench/recipes/setting"
)

func TestConfigsOnRealServers(t *testing.T) {
	addresses := servers.Get(t, 3).Addresses()
	for engine, open := range engines {
		for _, v := range setting.Variants() {
			for _, watch := range v.Watch {
				t.Run(engine+"/"+v.Name+" "+watch, func(t *testing.T) {
					recipestest.SettingOn(t, v, watch, dialer(addresses, open), fresh()+"/settings/"+engine+"-"+v.Name+"-"+watch)
				})
			}
		}
	}
}
