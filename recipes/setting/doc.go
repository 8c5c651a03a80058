// Package setting implements the cache of a setting.
package setting
