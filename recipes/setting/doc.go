// Package setting is the caches of a setting.
package setting
