package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// stage is one way to take and release a lock on a single server. Each stage in the list fixes a flaw of the previous one.
type stage struct {
	// take takes the lock if it is free; a token of 0 means none.
	take func(ctx context.Context, c *redis.Client, key, id string, ttl time.Duration) (taken bool, token int64, err error)
	// give releases the lock, and reports whether there was anything to release.
	give   func(ctx context.Context, c *redis.Client, key, id string) (was bool, err error)
	renews bool // a holder renews the lock every third of its time
	tokens bool
}

// The steps of "Simple implementation of Redis and Zookeeper with distributed lock", in its order, and two that it lacks: renew and fenced.
var stages = map[string]stage{
	"setnx":        {take: setNX(0), give: del},
	"setnx-expire": {take: setNXThenExpire, give: del},
	"set-nx-ex":    {take: set("1"), give: del},
	"get-del":      {take: set(""), give: getThenDel},
	"lua":          {take: set(""), give: compareAndDel},
	"renew":        {take: set(""), give: compareAndDel, renews: true},
	"fenced":       {take: setWithToken, give: compareAndDel, renews: true, tokens: true},
}

func stageNames() []string { return slices.Sorted(maps.Keys(stages)) }

type taking = func(ctx context.Context, c *redis.Client, key, id string, ttl time.Duration) (bool, int64, error)

// setNX is SETNX key 1: if a holder dies, the lock is never released.
func setNX(ttl time.Duration) taking {
	return func(ctx context.Context, c *redis.Client, key, _ string, _ time.Duration) (bool, int64, error) {
		taken, err := c.SetNX(ctx, key, 1, ttl).Result()
		return taken, 0, err
	}
}

// setNXThenExpire is SETNX and then EXPIRE: if a holder dies between the two, the lock is never released.
func setNXThenExpire(ctx context.Context, c *redis.Client, key, _ string, ttl time.Duration) (bool, int64, error) {
	taken, err := c.SetNX(ctx, key, 1, 0).Result()
	if taken && err == nil {
		err = c.PExpire(ctx, key, ttl).Err()
	}
	return taken && err == nil, 0, err
}

// set is SET key value NX PX ttl, with the client's id for the value "".
func set(value string) taking {
	return func(ctx context.Context, c *redis.Client, key, id string, ttl time.Duration) (bool, int64, error) {
		if value != "" {
			id = value
		}
		err := c.SetArgs(ctx, key, id, redis.SetArgs{Mode: "NX", TTL: ttl}).Err()
		if errors.Is(err, redis.Nil) {
			return false, 0, nil
		}
		return err == nil, 0, err
	}
}

// del is DEL key, regardless of its current holder.
func del(ctx context.Context, c *redis.Client, key, _ string) (bool, error) {
	n, err := c.Del(ctx, key).Result()
	return n > 0, err
}

// getThenDel is GET key, a comparison, and DEL key: the lock may change hands between the two commands.
func getThenDel(ctx context.Context, c *redis.Client, key, id string) (bool, error) {
	value, err := c.Get(ctx, key).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return false, nil
	case err != nil || value != id:
		return false, err
	}
	return del(ctx, c, key, id)
}

var (
	delScript   = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`)
	renewScript = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`)
	tokenScript = redis.NewScript(`if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
	local token = redis.call("incr", KEYS[2])
	redis.call("expire", KEYS[2], 86400)
	return token
end
return 0`)
)

// compareAndDel does both atomically in one script.
func compareAndDel(ctx context.Context, c *redis.Client, key, id string) (bool, error) {
	n, err := delScript.Run(ctx, c, []string{key}, id).Int64()
	return n > 0, err
}

// renew gives a holder the full time again; false if it no longer holds the lock.
func renew(ctx context.Context, c *redis.Client, key, id string, ttl time.Duration) (bool, error) {
	n, err := renewScript.Run(ctx, c, []string{key}, id, ttl.Milliseconds()).Int64()
	return n > 0, err
}

// setWithToken takes the lock and the next value of a separate counter, which expires after a day without a grant.
func setWithToken(ctx context.Context, c *redis.Client, key, id string, ttl time.Duration) (bool, int64, error) {
	token, err := tokenScript.Run(ctx, c, []string{key, key + ":token"}, id, ttl.Milliseconds()).Int64()
	return token > 0, token, err
}
