package main

import (
	"testing"

	"github.com/zkbench/zkbench/recipes/recipestest"
)

func TestLock(t *testing.T) { recipestest.Lock(t, variant) }
