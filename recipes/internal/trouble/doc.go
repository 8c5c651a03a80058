// Package trouble replays a call of a recipe, and each time another of its requests fails in another way. It is for tests only.
package trouble
