// Package drivers chooses how an ensemble comes to be: servers as processes, in containers, or somebody else's. It keeps the one ensemble of a
// user that stays.
package drivers
