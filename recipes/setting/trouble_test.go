package setting_test

import (
	"context"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/bubble"
	"github.com/zkbench/zkbench/recipes/internal/trouble"
	"github.com/zkbench/zkbench/recipes/setting"
)

func TestTroubleOfSettings(t *testing.T) {
	for _, v := range setting.Variants() {
		for _, watch := range v.Watch {
			o := recipes.Options{Watch: watch}
			set := func(ctx context.Context, c recipes.Setting) error { return bubble.Second(c.Set(ctx, []byte("x"))) }
			see := func(ctx context.Context, c recipes.Setting) error {
				return bubble.Second(c.Watch(ctx, recipes.SettingValue{}))
			}
			trouble.Withstand(t,
				trouble.Scene{Name: v.Name + " first " + watch, Whole: true, Set: trouble.Dialled(v.New, o, nil, set)},
				trouble.Scene{Name: v.Name + " set " + watch, Set: trouble.Dialled(v.New, o, set, set)},
				trouble.Scene{Name: v.Name + " watch " + watch, Set: trouble.After(v.New, o, set, nil, trouble.Dialled(v.New, o, nil, see))},
				trouble.Scene{Name: v.Name + " wait " + watch, Set: trouble.After(v.New, o, func(context.Context, recipes.Setting) error { return nil }, set, trouble.Dialled(v.New, o, nil, see))})
		}
	}
}
